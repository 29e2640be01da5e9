//! The responses of the page, with the headers that keep everything else out of it.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use maud::{Markup, html};
use onecall_core::Picture;

use super::context::PageContext;
use super::error::PageError;
use super::{give_back, layout};
use crate::http::PlainBody;

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What a browser may do with a picture that is opened as a page: show it, and nothing else.
const PICTURE_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// What a part of the page answers.
pub(super) enum PageAnswer {
    /// A page.
    Page { title: String, body: Markup, status: StatusCode },
    /// Another address, to be read with a new request.
    Redirect(String),
    /// A picture.
    Picture(Picture),
    /// A file to keep.
    File { kind: &'static str, name: String, content: String },
}

impl PageAnswer {
    pub(super) fn page(title: impl Into<String>, body: Markup) -> Self {
        Self::Page { title: title.into(), body, status: StatusCode::OK }
    }
}

/// An answer with the frame around it.
pub(super) enum PageReply {
    Document(StatusCode, Markup),
    Redirect(String),
    Picture(Picture),
    File { kind: &'static str, name: String, content: String },
}

impl PageReply {
    /// Puts the frame of the page around an answer, or around the error in its place.
    pub(super) fn new(context: &PageContext, answer: Result<PageAnswer, PageError>) -> Self {
        match answer {
            Ok(PageAnswer::Page { title, body, status }) => {
                Self::Document(status, layout::page(context, &title, &body))
            }
            Ok(PageAnswer::Redirect(address)) => Self::Redirect(address),
            Ok(PageAnswer::Picture(picture)) => Self::Picture(picture),
            Ok(PageAnswer::File { kind, name, content }) => Self::File { kind, name, content },
            Err(error) => {
                let body = html! {
                    (error.body())
                    // A form that could not be used because of the store is not lost.
                    @if error.may_pass() && !context.form.is_empty() {
                        (give_back::form(&context.address, &context.form))
                    } @else if error.may_pass() {
                        p { a.button href="" { "Try again" } }
                    }
                };
                Self::Document(error.status(), layout::page(context, error.title(), &body))
            }
        }
    }

    pub(super) fn into_response(self) -> Response<PlainBody> {
        match self {
            Self::Document(status, markup) => document(status, markup),
            Self::Redirect(address) => see_other(&address),
            Self::Picture(picture) => {
                let kind = picture.format().media_type();
                let mut response = with_headers(StatusCode::OK, kind, picture.bytes());
                let policy = HeaderValue::from_static(PICTURE_POLICY);
                response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
                response
            }
            Self::File { kind, name, content } => {
                let mut response = with_headers(StatusCode::OK, kind, content);
                let disposition = format!("attachment; filename=\"{name}\"");
                if let Ok(value) = HeaderValue::from_str(&disposition) {
                    response.headers_mut().insert(CONTENT_DISPOSITION, value);
                }
                response
            }
        }
    }
}

/// A complete document.
pub(super) fn document(status: StatusCode, markup: Markup) -> Response<PlainBody> {
    with_headers(status, "text/html; charset=utf-8", markup.into_string())
}

/// A short message for a person who has not signed in.
pub(super) fn outside(status: StatusCode, title: &str, message: &str) -> Response<PlainBody> {
    document(status, layout::outside(title, &html! { p.problem role="alert" { (message) } }))
}

pub(super) fn not_allowed() -> Response<PlainBody> {
    let mut response =
        outside(StatusCode::METHOD_NOT_ALLOWED, "Not allowed", "pages are read or sent");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
    response
}

/// Sends the browser to another address of the page.
pub(super) fn see_other(address: &str) -> Response<PlainBody> {
    let mut response = with_headers(StatusCode::SEE_OTHER, "text/plain", String::new());
    if let Ok(address) = HeaderValue::from_str(address) {
        response.headers_mut().insert(LOCATION, address);
    }
    response
}

/// Adds a cookie to a response.
pub(super) fn with_cookie(
    mut response: Response<PlainBody>,
    cookie: Option<HeaderValue>,
) -> Response<PlainBody> {
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

fn with_headers(
    status: StatusCode,
    kind: &'static str,
    content: impl Into<Bytes>,
) -> Response<PlainBody> {
    let mut response = Response::new(Full::new(content.into()).boxed());
    *response.status_mut() = status;
    add_headers(&mut response, kind);
    response
}

/// Adds the headers of all responses of the page.
pub(super) fn add_headers(response: &mut Response<PlainBody>, kind: &'static str) {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        // With no-referrer, browsers would send forms without the origin that they come from.
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&layout::SECURITY_POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
}
