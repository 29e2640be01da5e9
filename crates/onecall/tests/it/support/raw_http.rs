//! One HTTP request and its answer, byte by byte: a library would not let a test
//! send two hosts, or nothing at all.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::TIMEOUT;

/// An HTTP request, which may be invalid.
pub struct Request<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub headers: Vec<(&'a str, String)>,
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    pub fn new(method: &'a str, target: &'a str) -> Self {
        Self { method, target, headers: Vec::new(), body: b"" }
    }

    /// A message to MCP's own path.
    pub fn message(body: &'a str) -> Self {
        let mut request = Self::new("POST", "/mcp");
        request.body = body.as_bytes();
        let length = body.len().to_string();
        request
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json")
            .header("Content-Length", &length)
    }

    pub fn header(mut self, name: &'a str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The request line and the headers.
    pub fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }

    /// Sends the request without adding any header.
    pub fn send_unchanged(self, to: SocketAddr) -> HttpResponse {
        self.send_over(&connect(to))
    }

    /// Sends the request over a connection that stays open.
    pub fn send_over(self, stream: &TcpStream) -> HttpResponse {
        self.try_send_over(stream).expect("an answer")
    }

    fn try_send_over(self, mut stream: &TcpStream) -> io::Result<HttpResponse> {
        stream.write_all(self.head().as_bytes())?;
        // A server that refuses what is too long need not read it.
        let _ = stream.write_all(self.body);
        HttpResponse::read(stream.try_clone()?)
    }

    /// Sends the request with the header `Host` to a server that may end at any moment. Nothing may take
    /// longer than `timeout`.
    pub fn try_send(self, to: SocketAddr, timeout: Duration) -> io::Result<HttpResponse> {
        let stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(timeout))?;
        self.header("Host", &to.to_string()).try_send_over(&stream)
    }

    /// Sends the request with the header `Host`.
    pub fn send(self, to: SocketAddr) -> HttpResponse {
        self.header("Host", &to.to_string()).send_unchanged(to)
    }
}

/// Opens a connection with a read timeout.
pub fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    stream
}

/// An HTTP response whose body has not been read yet.
pub struct HttpResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    body: Box<dyn BufRead>,
}

/// One event of a stream.
#[derive(Debug)]
pub struct Event {
    pub id: String,
    pub data: Value,
}

impl HttpResponse {
    fn read(stream: TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let status = line(&mut reader)?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = line(&mut reader)?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut answer = Self {
            status: status.ok_or(io::ErrorKind::UnexpectedEof)?,
            headers,
            body: Box::new(io::empty()),
        };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        answer.body = match length {
            Some(length) => Box::new(reader.take(length)),
            None => Box::new(BufReader::new(Chunks { reader, left: 0 })),
        };
        Ok(answer)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The rest of the body, which is text.
    pub fn text(self) -> String {
        String::from_utf8(self.bytes()).expect("the body is text")
    }

    /// The rest of the body.
    pub fn bytes(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes).expect("the body can be read");
        bytes
    }

    /// The next message of an event stream; `None` at its end.
    pub fn next_event(&mut self) -> Option<Event> {
        self.try_next_event().expect("the stream can be read")
    }

    fn try_next_event(&mut self) -> io::Result<Option<Event>> {
        let (mut id, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.body.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end();
            if let Some(value) = line.strip_prefix("data:") {
                data += value.trim_start();
            } else if let Some(value) = line.strip_prefix("id:") {
                value.trim_start().clone_into(&mut id);
            } else if line.is_empty() && !data.is_empty() {
                let data = serde_json::from_str(&data).expect("events are messages");
                return Ok(Some(Event { id, data }));
            } else if line.is_empty() && !id.is_empty() {
                return Ok(Some(Event { id, data: Value::Null }));
            }
        }
    }

    /// The message that answers a request, whichever way it comes.
    pub fn message(self) -> Value {
        self.try_message().expect("the stream ends with the answer")
    }

    /// The message that answers a request, from a server that may end before it comes.
    pub fn try_message(mut self) -> io::Result<Value> {
        if self.header("content-type") == Some("application/json") {
            return Ok(serde_json::from_reader(self.body)?);
        }
        while let Some(event) = self.try_next_event()? {
            if event.data.get("id").is_some() {
                return Ok(event.data);
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// The body of an answer that has no length.
struct Chunks<R> {
    reader: R,
    left: usize,
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let size = line(&mut self.reader)?;
            self.left = usize::from_str_radix(&size, 16).unwrap_or(0);
            if self.left == 0 {
                return Ok(0);
            }
        }
        let wanted = self.left.min(buffer.len());
        let read = self.reader.read(&mut buffer[..wanted])?;
        self.left -= read;
        if self.left == 0 {
            line(&mut self.reader)?;
        }
        Ok(read)
    }
}
