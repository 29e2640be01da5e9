//! Responses that are built without rmcp, and the body type of all responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Buf, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use onecall_core::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::active_users::ActiveUser;
use super::connections::ActiveRequest;
use super::pending_requests::PendingRequest;
use super::request_body::MemoryReservation;
use crate::response_budget::{BudgetReservation, ResponseBudget};

/// The body of responses that rmcp returns.
pub(crate) type PlainBody = BoxBody<Bytes, Infallible>;

/// A chunk up to this size is sent without waiting for room: the number of such chunks is bounded
/// by the number of connections.
const SMALL_CHUNK_BYTES: usize = 64 * 1024;

/// The body of a response. Its large chunks wait for room among the unread answers.
pub(super) struct ResponseBody {
    content: PlainBody,
    budget: Arc<ResponseBudget>,
    waiting_chunk: Option<(Bytes, BoxFuture<'static, BudgetReservation>)>,
    /// Marks the connection as in use.
    _active_request: ActiveRequest,
    _memory: MemoryReservation,
    _pending: Option<PendingRequest>,
    /// Completes when the user of the request is removed; then the body ends.
    user_removed: Option<BoxFuture<'static, ()>>,
}

/// What a request takes up until its response is sent.
#[derive(Default)]
pub(super) struct KeptUntilSent {
    /// The memory of the request body, which is still in use: a program's source is part of it.
    pub(super) memory: MemoryReservation,
    /// The user of the request, if there are users.
    pub(super) user: Option<ActiveUser>,
    /// Counts the request among those that are being answered.
    pub(super) pending: Option<PendingRequest>,
}

/// A body whose parts come from a task.
pub(super) struct PartsBody(pub(super) mpsc::Receiver<Bytes>);

impl Body for PartsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}

/// A chunk of a response, which takes up its room until it is written to the socket.
pub(super) struct ResponseChunk {
    bytes: Bytes,
    _reservation: Option<BudgetReservation>,
}

/// A plain-text response.
pub(super) fn text(status: StatusCode, body: &str) -> Response<PlainBody> {
    response_with(status, HeaderValue::from_static("text/plain; charset=utf-8"), body.to_owned())
}

/// A metrics page in the Prometheus text format.
pub(super) fn metrics_page(page: String) -> Response<PlainBody> {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response_with(StatusCode::OK, kind, page)
}

/// A JSON-RPC error without a request id.
pub(super) fn rpc_error(status: StatusCode, code: i32, message: &str) -> Response<PlainBody> {
    let error = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": code, "message": message },
    });
    json_document(status, &error)
}

/// A response with a JSON document.
pub(super) fn json_document(status: StatusCode, document: &Value) -> Response<PlainBody> {
    response_with(status, HeaderValue::from_static("application/json"), document.to_string())
}

fn response_with(status: StatusCode, kind: HeaderValue, body: String) -> Response<PlainBody> {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Wraps a response so that its body respects the limit for unread answers.
pub(super) fn with_budget(
    response: Response<PlainBody>,
    budget: Arc<ResponseBudget>,
    kept: KeptUntilSent,
    active_request: ActiveRequest,
) -> Response<ResponseBody> {
    let KeptUntilSent { memory, user, pending } = kept;
    let user_removed =
        user.map(|user| Box::pin(async move { user.removed().await }) as BoxFuture<'static, ()>);
    response.map(|content| ResponseBody {
        content,
        budget,
        waiting_chunk: None,
        _active_request: active_request,
        _memory: memory,
        _pending: pending,
        user_removed,
    })
}

impl Body for ResponseBody {
    type Data = ResponseChunk;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<ResponseChunk>, Infallible>>> {
        if let Some(removed) = &mut self.user_removed
            && removed.as_mut().poll(context).is_ready()
        {
            // As when a client leaves: what still runs for this response is cancelled.
            (self.content, self.waiting_chunk) = (Full::new(Bytes::new()).boxed(), None);
            self.user_removed = None;
            return Poll::Ready(None);
        }
        if self.waiting_chunk.is_none() {
            let frame = match ready!(Pin::new(&mut self.content).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(never)) => match never {},
                None => return Poll::Ready(None),
            };
            let bytes = match frame.into_data() {
                Ok(bytes) => bytes,
                Err(frame) => {
                    return Poll::Ready(frame.into_trailers().ok().map(Frame::trailers).map(Ok));
                }
            };
            if bytes.len() <= SMALL_CHUNK_BYTES {
                return Poll::Ready(Some(Ok(Frame::data(ResponseChunk {
                    bytes,
                    _reservation: None,
                }))));
            }
            let reservation = Arc::clone(&self.budget).reserve(bytes.len());
            self.waiting_chunk = Some((bytes, Box::pin(reservation)));
        }
        let Some((_, reservation)) = &mut self.waiting_chunk else { return Poll::Ready(None) };
        let reservation = ready!(reservation.as_mut().poll(context));
        let taken = self.waiting_chunk.take().map(|(bytes, _)| bytes);
        let part = taken.map(|bytes| ResponseChunk { bytes, _reservation: Some(reservation) });
        Poll::Ready(part.map(Frame::data).map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.waiting_chunk.is_none() && self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.waiting_chunk {
            // hyper reads the size only before the first chunk.
            Some(_) => SizeHint::default(),
            None => self.content.size_hint(),
        }
    }
}

impl Buf for ResponseChunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}
