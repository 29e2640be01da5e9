//! What is answered without rmcp, and the body of every answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use super::body::Share;

/// What rmcp answers with.
pub(super) type Content = BoxBody<Bytes, Infallible>;

/// An answer's body. While it is sent, the memory of its request stays taken: a
/// program runs meanwhile, and its source is part of it.
pub(super) struct Answer {
    content: Content,
    _share: Share,
}

/// Plain words.
pub(super) fn text(status: StatusCode, words: &str) -> Response<Content> {
    answer(status, HeaderValue::from_static("text/plain; charset=utf-8"), words.to_owned())
}

/// Numbers, as Prometheus reads them.
pub(super) fn numbers(page: String) -> Response<Content> {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    answer(StatusCode::OK, kind, page)
}

/// A JSON-RPC error that belongs to no request.
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

/// An answer that holds the memory of its request.
pub(super) fn holding(response: Response<Content>, share: Share) -> Response<Answer> {
    response.map(|content| Answer { content, _share: share })
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.content).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}
