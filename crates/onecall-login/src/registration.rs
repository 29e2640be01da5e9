//! The OAuth client of onecall at an authorization server: configured by the user, or registered
//! dynamically.

use onecall_config::OAuthConfig;
use onecall_core::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Token;
use crate::discovery::Discovery;
use crate::error::LoginError;
use crate::web::LoginHttpClient;

/// The longest text of an authorization server that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// The client as an authorization server knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OAuthClient {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Token>,
    pub proof: ClientAuthMethod,
}

/// How the client authenticates itself at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientAuthMethod {
    /// Without a secret: it is a public client.
    Nothing,
    /// With its secret in the `Authorization` header.
    Header,
    /// With its secret in a form field.
    Field,
}

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<Token>,
    token_endpoint_auth_method: Option<String>,
}

#[derive(Deserialize)]
struct RegistrationRefusal {
    error: String,
    error_description: Option<String>,
}

/// The configured client, or else a newly registered one.
pub(crate) async fn client(
    web: &LoginHttpClient,
    discovery: &Discovery,
    settings: &OAuthConfig,
    redirect: &str,
    scopes: &[String],
) -> Result<OAuthClient, LoginError> {
    if let Some(client) = configured(settings, discovery.client_auth_methods.as_deref()) {
        return Ok(client);
    }
    let issuer = discovery.shown_issuer();
    let Some(endpoint) = &discovery.registration else {
        return Err(LoginError::NoRegistration { issuer });
    };
    // A browser on this machine comes back to a port of it, others come back to the gateway's address.
    let kind = if redirect.starts_with("https://") { "web" } else { "native" };
    let mut request = json!({
        "client_name": "onecall",
        "application_type": kind,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    if !scopes.is_empty() {
        request["scope"] = scopes.join(" ").into();
    }
    let not_registered = |detail: String| {
        let issuer = discovery.shown_issuer();
        LoginError::NotRegistered { issuer, detail: one_line(&detail, MAX_SHOWN_CHARS) }
    };
    let answer = web.post_json(endpoint, request.to_string()).await;
    let answer = answer.map_err(|error| not_registered(error.to_string()))?;
    let Some(given) = answer.json::<RegistrationResponse>().filter(|_| answer.status.is_success())
    else {
        return Err(not_registered(match answer.json::<RegistrationRefusal>() {
            Some(RegistrationRefusal { error, error_description: Some(description) }) => {
                format!("{error}: {description}")
            }
            Some(RegistrationRefusal { error, .. }) => error,
            None => format!("it answered {}", answer.status),
        }));
    };
    let method = given.token_endpoint_auth_method.as_deref();
    let proof = match (&given.client_secret, method) {
        (None, _) | (_, Some("none")) => ClientAuthMethod::Nothing,
        (_, Some("client_secret_post")) => ClientAuthMethod::Field,
        _ => ClientAuthMethod::Header,
    };
    Ok(OAuthClient { id: given.client_id, secret: given.client_secret, proof })
}

/// The configured client, if there is one. `methods` are the authentication methods of the token
/// endpoint.
pub(crate) fn configured(
    settings: &OAuthConfig,
    methods: Option<&[String]>,
) -> Option<OAuthClient> {
    let id = settings.client_id.clone()?;
    let secret = settings.client_secret.as_ref().map(|secret| Token::new(secret.reveal()));
    let takes = |proof: &str| methods.is_none_or(|methods| methods.iter().any(|it| it == proof));
    let proof = match &secret {
        None => ClientAuthMethod::Nothing,
        Some(_) if takes("client_secret_basic") || !takes("client_secret_post") => {
            ClientAuthMethod::Header
        }
        Some(_) => ClientAuthMethod::Field,
    };
    Some(OAuthClient { id, secret, proof })
}
