//! Finds the authorization server of a server and its endpoints. A server names its authorization
//! server, which publishes metadata. Servers of the revision 2025-03-26 name none; they are their
//! own authorization server, with endpoints at fixed paths if they publish no metadata.

use onecall_core::text::one_line;
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use thiserror::Error;

use crate::address;
use crate::challenge::Challenge;
use crate::error::LoginError;
use crate::http::shown_origin;
use crate::scope;
use crate::web::{LoginHttpClient, WebError};

/// The longest name from outside that is shown.
const MAX_SHOWN: usize = 200;

/// The endpoints and features of the authorization server for a server.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// The resource that tokens are requested for.
    pub resource: String,
    /// The issuer name of the authorization server, if it publishes one.
    pub issuer: Option<String>,
    pub authorization: Url,
    pub token: Url,
    pub registration: Option<Url>,
    pub revocation: Option<Url>,
    /// The scopes that the server supports.
    pub scopes: Vec<String>,
    /// Whether the scope `offline_access` has to be requested to get a refresh token.
    pub offers_offline_access: bool,
    /// The client authentication methods of the token endpoint, if they are published.
    pub client_auth_methods: Option<Vec<String>>,
    /// Whether every authorization response must name its issuer.
    pub responses_name_issuer: bool,
    /// Whether the endpoints are assumed, because no metadata was found.
    pub is_assumed: bool,
}

impl Discovery {
    /// The issuer name of the authorization server, or else the origin of its token endpoint.
    pub fn issuer_name(&self) -> String {
        let origin = || self.token.origin().ascii_serialization();
        self.issuer.clone().unwrap_or_else(origin)
    }

    /// The issuer name for messages.
    pub fn shown_issuer(&self) -> String {
        one_line(&self.issuer_name(), MAX_SHOWN)
    }

    /// The endpoints that are on another origin than the authorization server. Metadata that
    /// combine the authorization endpoint of another server with a token endpoint of the attacker
    /// would give the attacker the codes of that server.
    pub fn foreign_endpoints(&self, registers: bool) -> Vec<String> {
        let issuer = Url::parse(&self.issuer_name()).ok().map(|issuer| issuer.origin());
        let endpoints = [
            ("authorization", Some(&self.authorization)),
            ("token", Some(&self.token)),
            ("registration", self.registration.as_ref().filter(|_| registers)),
            ("revocation", self.revocation.as_ref()),
        ];
        let named = endpoints.into_iter().filter_map(|(what, url)| Some((what, url?)));
        let foreign = named.filter(|(_, url)| Some(url.origin()) != issuer);
        foreign.map(|(what, url)| format!("{what} at {}", shown_origin(url))).collect()
    }
}

/// The metadata of a server.
#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// The metadata of an authorization server.
#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Finds out where to log in. `challenge` is the server's response to a request without a token,
/// and `configured` is the only authorization server that the configuration allows, if it names
/// one.
pub(crate) async fn discover(
    web: &LoginHttpClient,
    challenge: &Challenge,
    configured: Option<&str>,
) -> Result<Discovery, LoginError> {
    let server = web.server();
    let (resource, scopes, named) = match resource_metadata(web, challenge).await? {
        Some(described) => {
            if !address::is_within(server, &described.resource) {
                let resource = one_line(&described.resource, MAX_SHOWN);
                return Err(LoginError::ForeignResource { resource });
            }
            let scopes = scope::parse(&described.scopes_supported.join(" "));
            (described.resource, scopes, described.authorization_servers)
        }
        None => (address::resource(server), Vec::new(), Vec::new()),
    };
    let is_configured =
        |name: &&String| configured.is_none_or(|configured| is_same_issuer(name, configured));
    let issuer = match (named.iter().find(is_configured), named.first(), configured) {
        (Some(issuer), ..) => issuer.as_str(),
        (None, Some(other), Some(configured)) => {
            let [configured, named] = [configured, other].map(|name| one_line(name, MAX_SHOWN));
            return Err(LoginError::OtherIssuer { configured, named });
        }
        (None, None, Some(configured)) => configured,
        (None, _, None) => return own_issuer(web, resource, scopes).await,
    };
    let url = address::parse_checked(issuer, server)?;
    let found = issuer_metadata(web, &metadata_urls(&url))
        .await
        .map_err(|error| no_metadata(one_line(issuer, MAX_SHOWN), &error))?;
    validated(found, issuer, resource, scopes, server)
}

/// Whether two issuer names mean the same authorization server.
pub(crate) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// The metadata of the server, from the first address that has them.
async fn resource_metadata(
    web: &LoginHttpClient,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let server = web.server();
    let mut urls = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        urls.push(address::parse_checked(named, server)?);
    }
    urls.push(address::well_known(server, "oauth-protected-resource"));
    urls.push(address::at_origin(server, "/.well-known/oauth-protected-resource"));
    let mut why = MetadataError::NoUrl;
    for url in &urls {
        why = match web.get(url).await {
            Ok(answer) => match answer.json().filter(|_| answer.status.is_success()) {
                Some(found) => return Ok(Some(found)),
                None => MetadataError::at(url.as_str(), answer.status),
            },
            Err(error) => error.into(),
        }
    }
    // A server that names a metadata address must have metadata; only older servers have none.
    match challenge.resource_metadata {
        Some(_) => Err(no_metadata(shown_origin(server), &why)),
        None => Ok(None),
    }
}

/// Uses the server as its own authorization server.
async fn own_issuer(
    web: &LoginHttpClient,
    resource: String,
    scopes: Vec<String>,
) -> Result<Discovery, LoginError> {
    let server = web.server();
    let origin = address::at_origin(server, "/");
    if let Ok(found) = issuer_metadata(web, &metadata_urls(&origin)).await {
        // The server may use any issuer name on its origin, since nothing else has named one.
        let is_own = Url::parse(&found.issuer).is_ok_and(|name| name.origin() == origin.origin());
        let issuer = if is_own { found.issuer.clone() } else { origin.to_string() };
        return validated(found, &issuer, resource, scopes, server);
    }
    Ok(Discovery {
        resource,
        issuer: None,
        authorization: address::at_origin(server, "/authorize"),
        token: address::at_origin(server, "/token"),
        registration: Some(address::at_origin(server, "/register")),
        revocation: None,
        scopes,
        offers_offline_access: false,
        client_auth_methods: None,
        responses_name_issuer: false,
        is_assumed: true,
    })
}

/// The addresses at which an authorization server may publish its metadata, best first.
fn metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut urls = vec![
        address::well_known(issuer, "oauth-authorization-server"),
        address::well_known(issuer, "openid-configuration"),
    ];
    if !path.is_empty() {
        urls.push(address::at_origin(issuer, &format!("{path}/.well-known/openid-configuration")));
    }
    urls
}

async fn issuer_metadata(
    web: &LoginHttpClient,
    urls: &[Url],
) -> Result<IssuerMetadata, MetadataError> {
    let mut why = MetadataError::NoUrl;
    for url in urls {
        why = match web.get(url).await {
            Ok(answer) if answer.status.is_success() => match answer.json() {
                Some(found) => return Ok(found),
                None => MetadataError::Unreadable { url: one_line(url.path(), MAX_SHOWN) },
            },
            Ok(answer) => MetadataError::at(url.path(), answer.status),
            Err(error) => error.into(),
        };
    }
    Err(why)
}

/// Why no metadata was found at the last address.
#[derive(Debug, Error)]
enum MetadataError {
    #[error("onecall can derive no address for its metadata")]
    NoUrl,
    #[error("{url} answers {status}")]
    Refused { url: String, status: StatusCode },
    #[error("{url} answers with something that is not metadata")]
    Unreadable { url: String },
    #[error(transparent)]
    Unanswered(#[from] WebError),
}

impl MetadataError {
    fn at(url: &str, status: StatusCode) -> Self {
        Self::Refused { url: one_line(url, MAX_SHOWN), status }
    }
}

fn no_metadata(issuer: String, why: &MetadataError) -> LoginError {
    LoginError::NoMetadata { issuer, detail: why.to_string() }
}

/// Checks and converts the metadata that were found for `issuer`.
fn validated(
    found: IssuerMetadata,
    issuer: &str,
    resource: String,
    scopes: Vec<String>,
    server: &Url,
) -> Result<Discovery, LoginError> {
    // Metadata of another issuer would redirect codes that are meant for that one.
    if !is_same_issuer(&found.issuer, issuer) {
        let [issuer, found] = [issuer, &found.issuer].map(|name| one_line(name, MAX_SHOWN));
        return Err(LoginError::ForeignIssuer { issuer, found });
    }
    // A server that does not list the method does not support it.
    if !found.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(LoginError::NoPkce { issuer: one_line(&found.issuer, MAX_SHOWN) });
    }
    let optional =
        |text: Option<String>| text.map(|it| address::parse_checked(&it, server)).transpose();
    Ok(Discovery {
        resource,
        authorization: address::parse_checked(&found.authorization_endpoint, server)?,
        token: address::parse_checked(&found.token_endpoint, server)?,
        registration: optional(found.registration_endpoint)?,
        revocation: optional(found.revocation_endpoint)?,
        scopes,
        offers_offline_access: found.scopes_supported.iter().any(|it| it == "offline_access"),
        client_auth_methods: found.token_endpoint_auth_methods_supported,
        responses_name_issuer: found.authorization_response_iss_parameter_supported,
        issuer: Some(found.issuer),
        is_assumed: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_where_an_issuer_may_describe_itself() {
        let urls = |issuer: &str| -> Vec<String> {
            metadata_urls(&Url::parse(issuer).unwrap()).into_iter().map(String::from).collect()
        };
        assert_eq!(
            urls("https://a.example/tenant/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant",
                "https://a.example/.well-known/openid-configuration/tenant",
                "https://a.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            urls("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ]
        );
    }
}
