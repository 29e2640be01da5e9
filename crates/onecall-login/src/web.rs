//! HTTP requests to authorization servers: small documents and forms, each with a time limit and a
//! size limit.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::time::timeout;

use crate::address;
use crate::error::LoginError;
use crate::http::{cause, client, shown_origin};

/// The time limit of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The largest response that is read.
const MAX_BODY: usize = 256 * 1024;

/// How many redirects within the origin are followed for a document.
const MAX_REDIRECTS: usize = 3;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// Makes requests for the login to one server.
#[derive(Clone, Debug)]
pub(crate) struct LoginHttpClient {
    /// Determines which addresses are safe.
    server: Url,
}

/// Why there is no response.
#[derive(Debug, Error)]
pub(crate) enum WebError {
    #[error(transparent)]
    UnsafeAddress(#[from] LoginError),
    #[error("{origin}: {cause}")]
    RequestFailed { origin: String, cause: String },
    #[error("{origin} redirects too often")]
    TooManyRedirects { origin: String },
    #[error("{origin} answered with more than {MAX_BODY} bytes")]
    TooLarge { origin: String },
    #[error("no answer from {origin} within {REQUEST_TIMEOUT:?}")]
    TimedOut { origin: String },
}

/// A response with any status.
pub(crate) struct WebResponse {
    pub status: StatusCode,
    location: Option<Url>,
    body: Vec<u8>,
}

impl WebResponse {
    /// Parses the body as JSON; `None` if it is invalid.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl LoginHttpClient {
    pub fn new(server: &Url) -> Self {
        Self { server: server.clone() }
    }

    /// The server that the requests are made for.
    pub fn server(&self) -> &Url {
        &self.server
    }

    /// Fetches a document.
    pub async fn get(&self, url: &Url) -> Result<WebResponse, WebError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send(&url, |client| client.get(url.clone())).await?;
            match answer.location {
                Some(next) if next.origin() == url.origin() => url = next,
                _ => return Ok(answer),
            }
        }
        Err(WebError::TooManyRedirects { origin: shown_origin(&url) })
    }

    /// Sends a form. Redirects are not followed, because the form contains secrets.
    pub async fn post_form(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        user: Option<(&str, &str)>,
    ) -> Result<WebResponse, WebError> {
        self.send(url, |client| {
            let request = client.post(url.clone()).header(CONTENT_TYPE, FORM).body(form(fields));
            match user {
                Some((name, password)) => {
                    // The specification requires both to be form-encoded before the header is
                    // built.
                    request.basic_auth(form_text(name), Some(form_text(password)))
                }
                None => request,
            }
        })
        .await
    }

    /// Sends a JSON document.
    pub async fn post_json(&self, url: &Url, body: String) -> Result<WebResponse, WebError> {
        self.send(url, |client| client.post(url.clone()).header(CONTENT_TYPE, JSON).body(body))
            .await
    }

    async fn send(
        &self,
        url: &Url,
        request: impl FnOnce(&Client) -> RequestBuilder,
    ) -> Result<WebResponse, WebError> {
        let origin = shown_origin(url);
        let failed = |error: reqwest::Error| WebError::RequestFailed {
            origin: origin.clone(),
            cause: cause(&error),
        };
        address::check(url, &self.server)?;
        let client = client(url).map_err(failed)?;
        let exchange = async {
            let sent = request(&client).header(ACCEPT, JSON).send().await;
            let mut response = sent.map_err(failed)?;
            let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
            let location = location.filter(|_| response.status().is_redirection());
            let location = location.and_then(|location| url.join(location).ok());
            let mut answer = WebResponse { status: response.status(), location, body: Vec::new() };
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                if answer.body.len() + chunk.len() > MAX_BODY {
                    return Err(WebError::TooLarge { origin: origin.clone() });
                }
                answer.body.extend_from_slice(&chunk);
            }
            Ok(answer)
        };
        let in_time = timeout(REQUEST_TIMEOUT, exchange).await;
        in_time.unwrap_or_else(|_| Err(WebError::TimedOut { origin: origin.clone() }))
    }
}

/// Encodes form fields for a body.
fn form(fields: &[(&str, &str)]) -> String {
    // The query of a URL has the same encoding.
    let Ok(mut url) = Url::parse("http://form.invalid/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

fn form_text(text: &str) -> String {
    form(&[("", text)]).trim_start_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded() {
        assert_eq!(form(&[("a", "b c&d=é"), ("e", "+%")]), "a=b+c%26d%3D%C3%A9&e=%2B%25");
        assert_eq!(form_text("a:b c"), "a%3Ab+c");
    }
}
