//! CORS headers, which a browser requires before a page of an allowed origin may send requests.
//! Whether the origin is allowed has been decided before.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Request, Response, StatusCode};

use super::answer::{Content, text};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
const EXPOSED: HeaderValue = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origin in the headers of a request.
pub(super) fn origin(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ORIGIN).cloned()
}

/// The response to a preflight request; `None` if the request is not one.
pub(super) fn preflight<B>(request: &Request<B>) -> Option<Response<Content>> {
    let headers = request.headers();
    let asks = request.method() == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let mut response = text(StatusCode::NO_CONTENT, "");
    let answered = response.headers_mut();
    answered.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    answered.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answered.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    Some(response)
}

/// Permits pages of `origin` to read a response.
pub(super) fn permit(answer: &mut HeaderMap, origin: HeaderValue) {
    answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    answer.insert(VARY, HeaderValue::from_static("Origin"));
}
