//! Fetches the keys of the identity provider. Its metadata name the address of the keys, and must be
//! those of the configured issuer. Documents have a size limit, and everything together a time limit.

use std::time::Duration;

use onecall_core::BoxFuture;
use onecall_core::text::one_line;
use onecall_login::http::{cause, client, is_loopback, shown_origin};
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use thiserror::Error;
use tokio::time::timeout;

use super::key_cache::KeySource;
use super::key_set::KeySet;

/// The time limit for metadata and keys together.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest document that is read.
const MAX_DOCUMENT: usize = 1024 * 1024;

/// The longest text of a document that is shown.
const MAX_SHOWN: usize = 200;

/// The identity provider.
pub(super) struct Issuer {
    /// The issuer as the configuration has it; tokens and metadata must have the same text.
    name: String,
    url: Url,
}

/// The parts of the metadata that are needed.
#[derive(Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    jwks_uri: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
}

/// Why there are no keys. The texts are for the log.
#[derive(Debug, Error)]
pub(super) enum IssuerError {
    #[error("{origin}: {cause}")]
    Unreachable { origin: String, cause: String },
    #[error("{url} answers {status}")]
    Status { url: String, status: StatusCode },
    #[error("{url} answers with more than {MAX_DOCUMENT} bytes")]
    TooLarge { url: String },
    #[error("{url} does not contain the metadata of an identity provider")]
    NoMetadata { url: String },
    #[error(
        "{url} contains the metadata of '{found}'; if that is the provider you mean, write exactly \
         this text as 'issuer'"
    )]
    OtherIssuer { url: String, found: String },
    #[error("the address of its keys, '{0}', is not an https:// address")]
    UnsafeKeyAddress(String),
    #[error("{url} does not contain a set of keys")]
    NoKeys { url: String },
    #[error("no answer within {FETCH_TIMEOUT:?}")]
    TimedOut,
}

impl Issuer {
    /// The identity provider with this address; `None` if it is not an address.
    pub(super) fn new(name: &str) -> Option<Self> {
        Some(Self { name: name.to_owned(), url: Url::parse(name).ok()? })
    }

    /// The metadata of the provider.
    pub(super) async fn fetch_metadata(&self) -> Result<Metadata, IssuerError> {
        let [first, second] = metadata_urls(&self.url);
        match self.metadata(&first).await {
            // Authorization servers that know nothing of OIDC publish their metadata elsewhere.
            Err(IssuerError::Status { status: StatusCode::NOT_FOUND, .. }) => {
                self.metadata(&second).await
            }
            found => found,
        }
    }

    async fn fetch_keys(&self) -> Result<KeySet, IssuerError> {
        let metadata = self.fetch_metadata().await?;
        let unsafe_address =
            || IssuerError::UnsafeKeyAddress(one_line(&metadata.jwks_uri, MAX_SHOWN));
        let url = Url::parse(&metadata.jwks_uri).map_err(|_| unsafe_address())?;
        if !self.is_safe(&url) {
            return Err(unsafe_address());
        }
        let document = get(&url).await?;
        KeySet::parse(&document).ok_or_else(|| IssuerError::NoKeys { url: shown(&url) })
    }

    async fn metadata(&self, url: &Url) -> Result<Metadata, IssuerError> {
        let document = get(url).await?;
        let metadata: Metadata = serde_json::from_slice(&document)
            .map_err(|_| IssuerError::NoMetadata { url: shown(url) })?;
        if metadata.issuer != self.name {
            let found = one_line(&metadata.issuer, MAX_SHOWN);
            return Err(IssuerError::OtherIssuer { url: shown(url), found });
        }
        Ok(metadata)
    }

    /// Keys and tokens are fetched over TLS. A provider on this machine may have them on this machine.
    pub(super) fn is_safe(&self, url: &Url) -> bool {
        match url.scheme() {
            "https" => true,
            "http" => is_loopback(url) && is_loopback(&self.url),
            _ => false,
        }
    }
}

impl KeySource for Issuer {
    fn fetch(&self) -> BoxFuture<'_, Result<KeySet, IssuerError>> {
        Box::pin(async {
            timeout(FETCH_TIMEOUT, self.fetch_keys()).await.unwrap_or(Err(IssuerError::TimedOut))
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// The addresses at which a provider publishes its metadata: of OpenID Connect Discovery, and of
/// RFC 8414.
fn metadata_urls(issuer: &Url) -> [Url; 2] {
    let path = issuer.path().trim_end_matches('/');
    [
        format!("{path}/.well-known/openid-configuration"),
        format!("/.well-known/oauth-authorization-server{path}"),
    ]
    .map(|path| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    })
}

/// Fetches a document. Redirects are not followed.
pub(super) async fn get(url: &Url) -> Result<Vec<u8>, IssuerError> {
    send(url, |client| client.get(url.clone())).await
}

/// Sends a request, and reads the document that answers it. Redirects are not followed.
pub(super) async fn send(
    url: &Url,
    request: impl FnOnce(&Client) -> RequestBuilder,
) -> Result<Vec<u8>, IssuerError> {
    let failed = |error: reqwest::Error| IssuerError::Unreachable {
        origin: shown_origin(url),
        cause: cause(&error),
    };
    let request = request(&client(url).map_err(failed)?);
    let request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
    let mut response = request.send().await.map_err(failed)?;
    let status = response.status();
    if !status.is_success() {
        return Err(IssuerError::Status { url: shown(url), status });
    }
    let mut document = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if document.len() + chunk.len() > MAX_DOCUMENT {
            return Err(IssuerError::TooLarge { url: shown(url) });
        }
        document.extend_from_slice(&chunk);
    }
    Ok(document)
}

/// An address without its query, for the log.
fn shown(url: &Url) -> String {
    one_line(&format!("{}{}", shown_origin(url), url.path()), MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_where_the_specifications_say() {
        let urls = |issuer: &str| metadata_urls(&Url::parse(issuer).unwrap()).map(String::from);
        assert_eq!(
            urls("https://a.example/tenant/"),
            [
                "https://a.example/tenant/.well-known/openid-configuration",
                "https://a.example/.well-known/oauth-authorization-server/tenant",
            ]
        );
        assert_eq!(
            urls("https://a.example"),
            [
                "https://a.example/.well-known/openid-configuration",
                "https://a.example/.well-known/oauth-authorization-server",
            ]
        );
    }

    #[test]
    fn keys_come_over_tls_or_from_this_machine() {
        let is_safe = |issuer: &str, keys: &str| {
            Issuer::new(issuer).unwrap().is_safe(&Url::parse(keys).unwrap())
        };
        assert!(is_safe("https://a.example", "https://keys.example/jwks"));
        assert!(is_safe("http://127.0.0.1:1", "http://localhost:2/jwks"));
        for keys in ["http://a.example/jwks", "http://127.0.0.1/jwks", "file:///etc/passwd"] {
            assert!(!is_safe("https://a.example", keys), "{keys}");
        }
    }
}
