//! A collector that receives spans over OTLP, or misbehaves. It runs in the process of the test,
//! which can inspect what it received.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::common::v1::{ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;

use crate::process::wait_until;

/// How long to wait for a span, far longer than one takes on a busy machine.
const SPAN_TIMEOUT: Duration = Duration::from_secs(30);

/// How a collector answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectorBehaviour {
    /// The collector accepts everything.
    Accept,
    /// The collector refuses every request with this status.
    Refuse(u16),
    /// The collector does not answer.
    NeverAnswer,
    /// The collector answers with something that is not HTTP.
    AnswerWithoutHttp,
    /// The collector accepts everything and answers with something that is not protobuf.
    AnswerWithoutProtobuf,
}

/// A running collector, which runs as long as the process.
pub struct Collector {
    address: String,
    batches: Arc<Mutex<Vec<Batch>>>,
}

/// One request to the collector.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The path of the request.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body as it was received.
    pub body: Vec<u8>,
}

/// A span as it was received.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedSpan {
    /// The name of the span.
    pub name: String,
    /// `internal`, `server`, `client` …
    pub kind: String,
    /// The id of the span's trace, in hexadecimal digits.
    pub trace: String,
    /// The id of the span, in hexadecimal digits.
    pub id: String,
    /// The id of the span's parent; empty if it has none.
    pub parent: String,
    /// The `tracestate` of the span.
    pub state: String,
    /// The attributes of the span as text.
    pub attributes: BTreeMap<String, String>,
    /// Whether the status of the span is an error.
    pub failed: bool,
    /// When the span began, in nanoseconds.
    pub start: u64,
    /// When the span ended, in nanoseconds.
    pub end: u64,
    /// How many events the span has.
    pub events: usize,
    /// The resource attributes of the process that sent the span.
    pub resource: BTreeMap<String, String>,
}

impl Collector {
    /// Starts a collector that accepts everything.
    #[must_use]
    pub fn start() -> Self {
        Self::with_behaviour(CollectorBehaviour::Accept)
    }

    /// Starts a collector that answers in this way.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn with_behaviour(behaviour: CollectorBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let batches = Arc::default();
        let collector = Self { address, batches: Arc::clone(&batches) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let batches = Arc::clone(&batches);
                thread::spawn(move || serve_connection(&stream, &batches, behaviour));
            }
        });
        collector
    }

    /// A URL at which nothing listens: no test is given this port.
    #[must_use]
    pub fn unreachable_url() -> String {
        "http://127.0.0.1:1".to_owned()
    }

    /// The URL of the collector.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn batches(&self) -> Vec<Batch> {
        lock(&self.batches).clone()
    }

    /// The spans so far, in the order in which they began.
    ///
    /// # Panics
    /// If a request is not a batch of spans.
    #[must_use]
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        let mut spans: Vec<_> = self.batches().iter().flat_map(Batch::spans).collect();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// Waits for a span of this name, and returns all spans so far.
    ///
    /// # Panics
    /// If no such span arrives.
    #[must_use]
    pub fn wait_for(&self, name: &str) -> Vec<ReceivedSpan> {
        let came = wait_until(SPAN_TIMEOUT, || self.spans().iter().any(|span| span.name == name));
        assert!(came, "no span '{name}' among {:#?}", self.spans());
        self.spans()
    }
}

impl Batch {
    fn spans(&self) -> Vec<ReceivedSpan> {
        let request = ExportTraceServiceRequest::decode(&*self.body).expect("a batch of spans");
        let mut received = Vec::new();
        for group in request.resource_spans {
            let resource = attributes(&group.resource.unwrap_or_default().attributes);
            let spans = group.scope_spans.into_iter().flat_map(|scope| scope.spans);
            received.extend(spans.map(|span| ReceivedSpan::new(span, &resource)));
        }
        received
    }
}

impl ReceivedSpan {
    fn new(span: Span, resource: &BTreeMap<String, String>) -> Self {
        let kind = span.kind().as_str_name().trim_start_matches("SPAN_KIND_").to_lowercase();
        Self {
            kind,
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            attributes: attributes(&span.attributes),
            failed: span.status.as_ref().is_some_and(|it| it.code() == StatusCode::Error),
            start: span.start_time_unix_nano,
            end: span.end_time_unix_nano,
            events: span.events.len(),
            resource: resource.clone(),
            name: span.name,
            state: span.trace_state,
        }
    }

    /// The value of an attribute; empty if there is none of this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

fn serve_connection(
    stream: &TcpStream,
    batches: &Mutex<Vec<Batch>>,
    behaviour: CollectorBehaviour,
) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(batch) = read_batch(&mut reader) {
        lock(batches).push(batch);
        let answer = match behaviour {
            CollectorBehaviour::Accept => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(),
            CollectorBehaviour::Refuse(status) => {
                format!("HTTP/1.1 {status} No\r\nContent-Length: 2\r\n\r\nno")
            }
            CollectorBehaviour::NeverAnswer => continue,
            CollectorBehaviour::AnswerWithoutHttp => "what do you want?\r\n\r\n".to_owned(),
            CollectorBehaviour::AnswerWithoutProtobuf => {
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwhat".to_owned()
            }
        };
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_batch(reader: &mut impl BufRead) -> Option<Batch> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length: u64 = headers.get("content-length")?.parse().ok()?;
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).ok()?;
    Some(Batch { path, headers, body })
}

fn attributes(pairs: &[KeyValue]) -> BTreeMap<String, String> {
    let text =
        |pair: &KeyValue| pair.value.as_ref().and_then(|it| it.value.as_ref()).map(attribute_text);
    pairs.iter().map(|pair| (pair.key.clone(), text(pair).unwrap_or_default())).collect()
}

fn attribute_text(value: &AnyValue) -> String {
    match value {
        AnyValue::StringValue(text) => text.clone(),
        AnyValue::BoolValue(truth) => truth.to_string(),
        AnyValue::IntValue(number) => number.to_string(),
        AnyValue::DoubleValue(number) => number.to_string(),
        AnyValue::ArrayValue(ArrayValue { values }) => {
            let values = values.iter().filter_map(|it| it.value.as_ref());
            values.map(attribute_text).collect::<Vec<_>>().join(", ")
        }
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
