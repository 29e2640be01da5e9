//! CORS headers, which a browser requires before a page of an allowed origin may send requests.
//! Whether the origin is allowed has been decided before.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Request, Response, StatusCode};

use super::response::{PlainBody, text};

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origin in the headers of a request.
pub(super) fn origin(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ORIGIN).cloned()
}

/// The response to a preflight request; `None` if the request is not one.
pub(super) fn preflight<B>(request: &Request<B>) -> Option<Response<PlainBody>> {
    let headers = request.headers();
    let is_preflight = request.method() == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !is_preflight {
        return None;
    }
    let mut response = text(StatusCode::NO_CONTENT, "");
    let response_headers = response.headers_mut();
    response_headers.insert(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    response_headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        response_headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    Some(response)
}

/// Permits pages of `origin` to read a response.
pub(super) fn allow_origin(answer: &mut HeaderMap, origin: HeaderValue) {
    answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    answer.insert(VARY, HeaderValue::from_static("Origin"));
}
