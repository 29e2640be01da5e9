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
use serde_json::json;

use super::body::Share;
use super::connections::Asking;
use crate::unread::{Charge, Unread};

/// The body of responses that rmcp returns.
pub(super) type Content = BoxBody<Bytes, Infallible>;

/// A chunk up to this size is sent without waiting for room: the number of such chunks is bounded
/// by the number of connections.
const SHORT: usize = 64 * 1024;

/// The body of a response. Its large chunks wait for room among the unread answers.
pub(super) struct Answer {
    content: Content,
    unread: Arc<Unread>,
    waiting: Option<(Bytes, BoxFuture<'static, Charge>)>,
    /// The memory of the request body, which is still in use: a program's source is part of it.
    _share: Share,
    /// Marks the connection as in use.
    _asking: Asking,
}

/// A chunk of a response, which takes up its room until it is written to the socket.
pub(super) struct Part {
    bytes: Bytes,
    _charge: Option<Charge>,
}

/// A plain-text response.
pub(super) fn text(status: StatusCode, words: &str) -> Response<Content> {
    answer(status, HeaderValue::from_static("text/plain; charset=utf-8"), words.to_owned())
}

/// A metrics page in the Prometheus text format.
pub(super) fn numbers(page: String) -> Response<Content> {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer(StatusCode::OK, kind, page)
}

/// A JSON-RPC error without a request id.
pub(super) fn rpc_error(status: StatusCode, code: i32, message: &str) -> Response<Content> {
    let error = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": code, "message": message },
    });
    answer(status, HeaderValue::from_static("application/json"), error.to_string())
}

fn answer(status: StatusCode, kind: HeaderValue, words: String) -> Response<Content> {
    let mut response = Response::new(Full::new(Bytes::from(words)).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Wraps a response so that its body respects the limit for unread answers.
pub(super) fn on_its_way(
    response: Response<Content>,
    unread: &Arc<Unread>,
    share: Share,
    asking: Asking,
) -> Response<Answer> {
    let unread = Arc::clone(unread);
    response.map(|content| Answer {
        content,
        unread,
        waiting: None,
        _share: share,
        _asking: asking,
    })
}

impl Body for Answer {
    type Data = Part;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Part>, Infallible>>> {
        if self.waiting.is_none() {
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
            if bytes.len() <= SHORT {
                return Poll::Ready(Some(Ok(Frame::data(Part { bytes, _charge: None }))));
            }
            let charge = Arc::clone(&self.unread).charge(bytes.len());
            self.waiting = Some((bytes, Box::pin(charge)));
        }
        let Some((_, charge)) = &mut self.waiting else { return Poll::Ready(None) };
        let charge = ready!(charge.as_mut().poll(context));
        let taken = self.waiting.take().map(|(bytes, _)| bytes);
        let part = taken.map(|bytes| Part { bytes, _charge: Some(charge) });
        Poll::Ready(part.map(Frame::data).map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.waiting {
            // hyper reads the size only before the first chunk.
            Some(_) => SizeHint::default(),
            None => self.content.size_hint(),
        }
    }
}

impl Buf for Part {
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
