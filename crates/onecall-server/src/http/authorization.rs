//! The OAuth side of a gateway with users: the token in a request, the refusals with their challenges,
//! and the metadata that lead clients to the identity provider (RFC 6750 and RFC 9728).

use std::sync::Arc;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, AUTHORIZATION, HOST, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use onecall_core::Principal;
use onecall_gateway::{Authenticator, LoginRefusal, RefusalKind};
use serde_json::json;

use super::cors;
use super::response::{PlainBody, json_document, text};

/// Where clients find the metadata, with and without the path of MCP.
const METADATA_PATHS: [&str; 2] =
    ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"];

/// How long a client should wait if a token cannot be checked at the moment, in seconds.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("10");

const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");

/// What a request has in the place of a token.
#[derive(Debug, PartialEq, Eq)]
enum SentToken<'r> {
    None,
    One(&'r str),
    /// Something that cannot be a token.
    Malformed,
    /// More than one token, or a token in the address, where logs would show it.
    Misplaced,
}

/// Authorises the requests to a gateway with users.
#[derive(Clone)]
pub(super) struct UserAuthorization {
    authenticator: Arc<Authenticator>,
}

/// Whether this is the path of the metadata.
pub(super) fn is_metadata_path(path: &str) -> bool {
    METADATA_PATHS.contains(&path)
}

impl UserAuthorization {
    pub(super) fn new(authenticator: Arc<Authenticator>) -> Self {
        Self { authenticator }
    }

    pub(super) fn authenticator(&self) -> &Arc<Authenticator> {
        &self.authenticator
    }

    /// The user that a request comes from, or the response that refuses it.
    pub(super) async fn authorize<B>(
        &self,
        request: &Request<B>,
    ) -> Result<Arc<Principal>, Response<PlainBody>> {
        let headers = request.headers();
        let refused = match sent_token(request.uri(), headers) {
            SentToken::One(token) => match self.authenticator.authenticate(token).await {
                Ok(principal) => return Ok(principal),
                Err(refused) => refused,
            },
            SentToken::Malformed => LoginRefusal::Malformed,
            SentToken::None => return Err(self.without_token(headers)),
            SentToken::Misplaced => return Err(self.misplaced_token(headers)),
        };
        tracing::debug!("a request is refused: {refused}");
        Err(self.refusal(&refused, headers))
    }

    fn without_token(&self, headers: &HeaderMap) -> Response<PlainBody> {
        let message = "Unauthorized: send your token as 'Authorization: Bearer TOKEN'\n";
        let response = text(StatusCode::UNAUTHORIZED, message);
        self.challenged(response, headers, None)
    }

    fn misplaced_token(&self, headers: &HeaderMap) -> Response<PlainBody> {
        let why = "send one token, in the header Authorization and not in the address";
        let response = text(StatusCode::BAD_REQUEST, &format!("Bad Request: {why}\n"));
        self.challenged(response, headers, Some(("invalid_request", why)))
    }

    fn refusal(&self, refused: &LoginRefusal, headers: &HeaderMap) -> Response<PlainBody> {
        let why = refused.to_string();
        match refused.kind() {
            RefusalKind::InvalidToken => {
                let response = text(StatusCode::UNAUTHORIZED, &format!("Unauthorized: {why}\n"));
                self.challenged(response, headers, Some(("invalid_token", &why)))
            }
            RefusalKind::InsufficientScope => {
                let message = format!("Forbidden: {why}: {}\n", self.scopes().join(" "));
                let response = text(StatusCode::FORBIDDEN, &message);
                self.challenged(response, headers, Some(("insufficient_scope", &why)))
            }
            RefusalKind::Forbidden => text(StatusCode::FORBIDDEN, &format!("Forbidden: {why}\n")),
            RefusalKind::Unavailable => {
                let message = format!("Service Unavailable: {why}\n");
                let mut response = text(StatusCode::SERVICE_UNAVAILABLE, &message);
                response.headers_mut().insert(RETRY_AFTER, RETRY_SECONDS);
                response
            }
        }
    }

    /// Adds the challenge: where the metadata are, the scopes that are required, and the error.
    fn challenged(
        &self,
        mut response: Response<PlainBody>,
        headers: &HeaderMap,
        error: Option<(&str, &str)>,
    ) -> Response<PlainBody> {
        let metadata = format!("{}{}", self.public_url(headers), METADATA_PATHS[0]);
        let mut challenge = format!("Bearer resource_metadata=\"{}\"", quotable(&metadata));
        if !self.scopes().is_empty() {
            let scopes = quotable(&self.scopes().join(" "));
            challenge.push_str(&format!(", scope=\"{scopes}\""));
        }
        if let Some((error, description)) = error {
            let description = quotable(description);
            challenge
                .push_str(&format!(", error=\"{error}\", error_description=\"{description}\""));
        }
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// The response to a request for the metadata. Pages of every origin may read it.
    pub(super) fn metadata<B>(&self, request: &Request<B>) -> Response<PlainBody> {
        let mut response = match *request.method() {
            Method::GET | Method::HEAD => self.metadata_document(request.headers()),
            _ => cors::preflight(request).unwrap_or_else(|| {
                let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                response
            }),
        };
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
        response
    }

    fn metadata_document(&self, headers: &HeaderMap) -> Response<PlainBody> {
        let oidc = self.authenticator.config().oidc.as_ref();
        let resource = match oidc {
            Some(oidc) => oidc.audience.clone(),
            None => format!("{}/mcp", self.public_url(headers)),
        };
        let mut document = json!({ "resource": resource });
        if let Some(oidc) = oidc {
            document["authorization_servers"] = json!([oidc.issuer]);
        }
        // Lists without elements are left out, as the specification asks.
        if !self.scopes().is_empty() {
            document["scopes_supported"] = json!(self.scopes());
        }
        document["bearer_methods_supported"] = json!(["header"]);
        json_document(StatusCode::OK, &document)
    }

    fn scopes(&self) -> &[String] {
        self.authenticator.config().oidc.as_ref().map_or(&[], |oidc| &oidc.scopes)
    }

    /// The address at which clients reach this gateway: as configured, or that of the audience, or as
    /// the request names it.
    fn public_url(&self, headers: &HeaderMap) -> String {
        let config = self.authenticator.config();
        let configured = config.public_url.clone();
        let of_audience = || origin_of(&config.oidc.as_ref()?.audience);
        let named = || {
            let host = headers.get(HOST).and_then(|host| host.to_str().ok());
            format!("http://{}", host.unwrap_or("localhost"))
        };
        configured.or_else(of_audience).unwrap_or_else(named)
    }
}

/// The scheme and host of an HTTP address.
fn origin_of(address: &str) -> Option<String> {
    let uri: Uri = address.parse().ok()?;
    let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?;
    Some(format!("{scheme}://{}", uri.authority()?))
}

/// A text as it can be written between quotes in a challenge.
fn quotable(text: &str) -> String {
    let is_allowed = |symbol: &char| matches!(symbol, ' '..='~') && !matches!(symbol, '"' | '\\');
    text.chars().map(|symbol| if is_allowed(&symbol) { symbol } else { '?' }).collect()
}

/// The token in a request.
fn sent_token<'r>(uri: &Uri, headers: &'r HeaderMap) -> SentToken<'r> {
    let fields = uri.query().unwrap_or_default().split('&');
    let mut names = fields.map(|field| field.split_once('=').map_or(field, |(name, _)| name));
    if names.any(|name| name.eq_ignore_ascii_case("access_token")) {
        return SentToken::Misplaced;
    }
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return SentToken::None,
        (Some(value), None) => value,
        (Some(_), Some(_)) => return SentToken::Misplaced,
    };
    let Some((scheme, token)) = value.as_bytes().split_at_checked("bearer ".len()) else {
        return SentToken::None;
    };
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return SentToken::None;
    }
    let token = token.trim_ascii();
    let is_token_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    match std::str::from_utf8(token) {
        Ok(text) if !text.is_empty() && token.iter().all(is_token_byte) => SentToken::One(text),
        _ => SentToken::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_token_in_the_header_counts() {
        let rows: [(&str, &[&str], SentToken<'_>); 13] = [
            ("/mcp", &["Bearer oc_abc"], SentToken::One("oc_abc")),
            ("/mcp?x=1", &["bearer  a.b-c_d.e="], SentToken::One("a.b-c_d.e=")),
            ("/mcp", &[], SentToken::None),
            ("/mcp", &["Basic YTpi"], SentToken::None),
            ("/mcp", &["oc_abc"], SentToken::None),
            ("/mcp", &["Bearer"], SentToken::None),
            ("/mcp", &["Bearer "], SentToken::Malformed),
            ("/mcp", &["Bearer a, Bearer b"], SentToken::Malformed),
            ("/mcp", &["Bearer a\u{e9}"], SentToken::Malformed),
            ("/mcp", &["Bearer a", "Bearer a"], SentToken::Misplaced),
            ("/mcp", &["Bearer a", "Basic b"], SentToken::Misplaced),
            ("/mcp?access_token=a", &[], SentToken::Misplaced),
            ("/mcp?x=1&ACCESS_TOKEN", &["Bearer a"], SentToken::Misplaced),
        ];
        for (target, values, expected) in rows {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let uri: Uri = target.parse().unwrap();
            assert_eq!(sent_token(&uri, &headers), expected, "{target} {values:?}");
        }
    }

    #[test]
    fn nothing_ends_the_quotes_of_a_challenge() {
        assert_eq!(quotable("the claim 'a\"b\\c\u{e9}\n' is"), "the claim 'a?b?c??' is");
        assert_eq!(origin_of("https://a.example:8/x/mcp").as_deref(), Some("https://a.example:8"));
        assert_eq!(origin_of("api://onecall"), None);
        assert_eq!(origin_of("onecall"), None);
    }
}
