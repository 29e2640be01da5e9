//! Where to log in for a server: it names its authorization server, and that one
//! describes itself. Servers of the revision 2025-03-26 name nobody; they are their
//! own, with endpoints at fixed places if they do not describe themselves either.

use onecall_core::text::plain;
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use thiserror::Error;

use crate::address;
use crate::challenge::Challenge;
use crate::error::LoginError;
use crate::http::shown_origin;
use crate::scope;
use crate::web::{Web, WebError};

/// How much of a name that others gave is shown.
const MAX_SHOWN: usize = 200;

/// What is known about where to log in.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// What tokens are to be for.
    pub resource: String,
    /// What the authorization server calls itself, where it does.
    pub issuer: Option<String>,
    pub authorization: Url,
    pub token: Url,
    pub registration: Option<Url>,
    pub revocation: Option<Url>,
    /// What a token for the server can allow.
    pub scopes: Vec<String>,
    /// Whether tokens that outlive the person's presence have to be asked for.
    pub offers_offline_access: bool,
    /// How clients may prove who they are at the token endpoint, where that is said.
    pub client_proofs: Option<Vec<String>>,
    /// Whether every answer must say who gave it.
    pub answers_name_issuer: bool,
    /// Whether it was guessed that one can log in here.
    pub is_guess: bool,
}

impl Discovery {
    /// What the authorization server calls itself, or would if it described itself.
    pub fn issuer_name(&self) -> String {
        let origin = || self.token.origin().ascii_serialization();
        self.issuer.clone().unwrap_or_else(origin)
    }

    /// The authorization server, for messages.
    pub fn shown_issuer(&self) -> String {
        plain(&self.issuer_name(), MAX_SHOWN)
    }

    /// The endpoints that are not of the authorization server's own origin. One who describes
    /// another's authorization endpoint beside a token endpoint of their own gets the codes that
    /// people mean for the other.
    pub fn elsewhere(&self, registers: bool) -> Vec<String> {
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

/// What a server says about itself.
#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// What an authorization server says about itself.
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

/// Finds out where to log in. `challenge` is what the server said when it refused us, and
/// `configured` the only authorization server that the configuration allows, if it names one.
pub(crate) async fn discover(
    web: &Web,
    challenge: &Challenge,
    configured: Option<&str>,
) -> Result<Discovery, LoginError> {
    let server = web.server();
    let (resource, scopes, named) = match resource_metadata(web, challenge).await? {
        Some(described) => {
            if !address::is_within(server, &described.resource) {
                let resource = plain(&described.resource, MAX_SHOWN);
                return Err(LoginError::ForeignResource { resource });
            }
            let scopes = scope::read(&described.scopes_supported.join(" "));
            (described.resource, scopes, described.authorization_servers)
        }
        None => (address::resource(server), Vec::new(), Vec::new()),
    };
    let is_configured =
        |name: &&String| configured.is_none_or(|configured| is_same_issuer(name, configured));
    let issuer = match (named.iter().find(is_configured), named.first(), configured) {
        (Some(issuer), ..) => issuer.as_str(),
        (None, Some(other), Some(configured)) => {
            let [configured, named] = [configured, other].map(|name| plain(name, MAX_SHOWN));
            return Err(LoginError::OtherIssuer { configured, named });
        }
        (None, None, Some(configured)) => configured,
        (None, _, None) => return own_issuer(web, resource, scopes).await,
    };
    let url = address::read(issuer, server)?;
    let found = issuer_metadata(web, &documents(&url))
        .await
        .map_err(|error| no_metadata(plain(issuer, MAX_SHOWN), &error))?;
    checked(found, issuer, resource, scopes, server)
}

/// Whether two names are of the same authorization server.
pub(crate) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// What the server says about itself, at the first place where it says something.
async fn resource_metadata(
    web: &Web,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let server = web.server();
    let mut places = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        places.push(address::read(named, server)?);
    }
    places.push(address::well_known(server, "oauth-protected-resource"));
    places.push(address::at_origin(server, "/.well-known/oauth-protected-resource"));
    let mut why = NoDocument::NoPlace;
    for place in &places {
        why = match web.get(place).await {
            Ok(answer) => match answer.json().filter(|_| answer.status.is_success()) {
                Some(found) => return Ok(Some(found)),
                None => NoDocument::at(place.as_str(), answer.status),
            },
            Err(error) => error.into(),
        }
    }
    // Whoever says that there is a description is no server of the time before.
    match challenge.resource_metadata {
        Some(_) => Err(no_metadata(shown_origin(server), &why)),
        None => Ok(None),
    }
}

/// The server is its own authorization server.
async fn own_issuer(
    web: &Web,
    resource: String,
    scopes: Vec<String>,
) -> Result<Discovery, LoginError> {
    let server = web.server();
    let origin = address::at_origin(server, "/");
    if let Ok(found) = issuer_metadata(web, &documents(&origin)).await {
        // It may call itself by any name of its origin, since nothing else has named it.
        let is_own = Url::parse(&found.issuer).is_ok_and(|name| name.origin() == origin.origin());
        let issuer = if is_own { found.issuer.clone() } else { origin.to_string() };
        return checked(found, &issuer, resource, scopes, server);
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
        client_proofs: None,
        answers_name_issuer: false,
        is_guess: true,
    })
}

/// Where an authorization server may describe itself, best first.
fn documents(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        address::well_known(issuer, "oauth-authorization-server"),
        address::well_known(issuer, "openid-configuration"),
    ];
    if !path.is_empty() {
        places
            .push(address::at_origin(issuer, &format!("{path}/.well-known/openid-configuration")));
    }
    places
}

async fn issuer_metadata(web: &Web, places: &[Url]) -> Result<IssuerMetadata, NoDocument> {
    let mut why = NoDocument::NoPlace;
    for place in places {
        why = match web.get(place).await {
            Ok(answer) if answer.status.is_success() => match answer.json() {
                Some(found) => return Ok(found),
                None => NoDocument::Unreadable { place: plain(place.path(), MAX_SHOWN) },
            },
            Ok(answer) => NoDocument::at(place.path(), answer.status),
            Err(error) => error.into(),
        };
    }
    Err(why)
}

/// Why the last place where a document could be has none.
#[derive(Debug, Error)]
enum NoDocument {
    #[error("there is no place to look for it")]
    NoPlace,
    #[error("{place} answers {status}")]
    Refused { place: String, status: StatusCode },
    #[error("{place} answers with something else")]
    Unreadable { place: String },
    #[error(transparent)]
    Unanswered(#[from] WebError),
}

impl NoDocument {
    fn at(place: &str, status: StatusCode) -> Self {
        Self::Refused { place: plain(place, MAX_SHOWN), status }
    }
}

fn no_metadata(issuer: String, why: &NoDocument) -> LoginError {
    LoginError::NoMetadata { issuer, detail: why.to_string() }
}

/// Reads the metadata that were found where `issuer` would describe itself.
fn checked(
    found: IssuerMetadata,
    issuer: &str,
    resource: String,
    scopes: Vec<String>,
    server: &Url,
) -> Result<Discovery, LoginError> {
    // One that describes another would get the codes that are meant for that one.
    if !is_same_issuer(&found.issuer, issuer) {
        let [issuer, found] = [issuer, &found.issuer].map(|name| plain(name, MAX_SHOWN));
        return Err(LoginError::ForeignIssuer { issuer, found });
    }
    // Whoever leaves it out does not support it.
    if !found.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(LoginError::NoPkce { issuer: plain(&found.issuer, MAX_SHOWN) });
    }
    let optional = |text: Option<String>| text.map(|it| address::read(&it, server)).transpose();
    Ok(Discovery {
        resource,
        authorization: address::read(&found.authorization_endpoint, server)?,
        token: address::read(&found.token_endpoint, server)?,
        registration: optional(found.registration_endpoint)?,
        revocation: optional(found.revocation_endpoint)?,
        scopes,
        offers_offline_access: found.scopes_supported.iter().any(|it| it == "offline_access"),
        client_proofs: found.token_endpoint_auth_methods_supported,
        answers_name_issuer: found.authorization_response_iss_parameter_supported,
        issuer: Some(found.issuer),
        is_guess: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_where_an_issuer_may_describe_itself() {
        let places = |issuer: &str| -> Vec<String> {
            documents(&Url::parse(issuer).unwrap()).into_iter().map(String::from).collect()
        };
        assert_eq!(
            places("https://a.example/tenant/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant",
                "https://a.example/.well-known/openid-configuration/tenant",
                "https://a.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            places("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ]
        );
    }
}
