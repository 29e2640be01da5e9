//! One interactive login from beginning to end: find the authorization server, send the user there,
//! receive the response, exchange the code for tokens and store them.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use onecall_config::{OAuthConfig, ServerConfig};
use onecall_core::text::one_line;
use onecall_core::{GatewayId, ServerName, UserName};
use reqwest::Url;
use tokio::time::timeout;

use crate::callback::{AuthorizationResponse, CallbackListener};
use crate::challenge::{AuthRequirement, Challenge};
use crate::discovery::{Discovery, discover};
use crate::error::LoginError;
use crate::http::shown_origin;
use crate::login_place::LoginOwner;
use crate::login_target::LoginTarget;
use crate::registration::{self, OAuthClient};
use crate::token::TokenEndpoint;
use crate::user_vault::UserVault;
use crate::vault::StoredLogin;
use crate::web::LoginHttpClient;
use crate::{Token, address, scope, secrecy};

/// How long the server may take to say which login it requires.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest text from outside that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// The result of a successful login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginGrant {
    /// The granted scopes, as far as they are known.
    pub scopes: Vec<String>,
    /// Whether there is a refresh token, so that the login outlasts its first token.
    pub is_renewable: bool,
}

/// On whose word the login trusts the authorization server that the server's metadata name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerTrust {
    /// Only the configuration: a login with [warnings](PendingLogin::security_warnings) is rejected.
    Configuration,
    /// The user, who was asked about each of the warnings.
    User,
}

/// A login whose authorization server is known. No secret has left this machine yet.
pub struct PendingLogin {
    target: LoginTarget,
    web: LoginHttpClient,
    discovery: Discovery,
    scopes: Vec<String>,
    /// The issuer of the tokens of the previous login.
    earlier_issuer: Option<String>,
}

impl PendingLogin {
    /// Finds out where the local user logs in to `server`. The tokens will be stored in `vault` if that
    /// keeps the logins of the local user, and else in a file. `asked` resolves to the server's response
    /// to a request without a token, or to `None` if the server requires no login. It is polled only
    /// after the configuration entry was found to support logins.
    ///
    /// # Errors
    /// If the authorization server cannot be determined, or is not safe.
    pub async fn prepare<E: Display>(
        server: &ServerConfig,
        vault: Option<&Arc<UserVault>>,
        asked: impl Future<Output = Result<Option<AuthRequirement>, E>>,
    ) -> Result<Self, LoginError> {
        Self::prepare_target(LoginTarget::of(server, &LoginOwner::local(vault))?, asked).await
    }

    /// Finds out where a user of the gateway logs in to `server`, as [`prepare`](Self::prepare) does for
    /// the local user. The tokens will be stored in `vault`.
    ///
    /// # Errors
    /// If the authorization server cannot be determined, or is not safe.
    pub async fn prepare_for_user<E: Display>(
        server: &ServerConfig,
        user: &UserName,
        vault: &Arc<UserVault>,
        asked: impl Future<Output = Result<Option<AuthRequirement>, E>>,
    ) -> Result<Self, LoginError> {
        let owner = LoginOwner::of(user, vault);
        Self::prepare_target(LoginTarget::of(server, &owner)?, asked).await
    }

    async fn prepare_target<E: Display>(
        target: LoginTarget,
        asked: impl Future<Output = Result<Option<AuthRequirement>, E>>,
    ) -> Result<Self, LoginError> {
        let web = LoginHttpClient::new(&target.url);
        address::check(&target.url, &target.url)?;
        let challenge = challenge(&target.name, asked).await?;
        let asked = challenge.clone().unwrap_or_default();
        let discovery = discover(&web, &asked, target.settings.issuer.as_deref()).await?;
        if challenge.is_none() && discovery.is_assumed {
            return Err(LoginError::NotAsked { server: target.name.clone() });
        }
        // A previous login that cannot be read is replaced.
        let earlier = match target.place.take_over_earlier().await {
            Ok(()) => target.place.read().await.ok().and_then(|(_, entry)| entry),
            Err(_) => None,
        };
        let scopes = scopes(&target.settings, &discovery, &asked, earlier.as_ref());
        let earlier_issuer = earlier.and_then(|entry| entry.issuer);
        Ok(Self { target, web, discovery, scopes, earlier_issuer })
    }

    /// The signs of a possible attack on this login, each as the error that it becomes if the user
    /// does not allow it. With an `issuer` in the configuration there are none.
    #[must_use]
    pub fn security_warnings(&self) -> Vec<LoginError> {
        let LoginTarget { name, settings, url, .. } = &self.target;
        if settings.issuer.is_some() {
            return Vec::new();
        }
        let (mut security_warnings, issuer) = (Vec::new(), self.discovery.shown_issuer());
        let foreign_endpoints = self.discovery.foreign_endpoints(settings.client_id.is_none());
        if !foreign_endpoints.is_empty() {
            let (server, endpoints) = (name.clone(), foreign_endpoints.join(", "));
            security_warnings.push(LoginError::ForeignEndpoints {
                server,
                issuer: issuer.clone(),
                endpoints,
            });
        }
        let is_own = self.discovery.token.origin() == url.origin();
        let is_known =
            self.earlier_issuer.is_some() && self.earlier_issuer == self.discovery.issuer;
        if settings.client_secret.is_some() && !is_own && !is_known {
            security_warnings.push(LoginError::SecretForIssuer { server: name.clone(), issuer });
        }
        security_warnings
    }

    /// Logs the user in. `show` gets the URL to open in a browser on this machine; the user has the
    /// time `limit` for that.
    ///
    /// # Errors
    /// If the login failed; the stored login is unchanged then.
    pub async fn complete(
        self,
        trust: IssuerTrust,
        limit: Duration,
        show: impl FnOnce(&str),
    ) -> Result<LoginGrant, LoginError> {
        let listener = CallbackListener::open(self.target.settings.redirect_port).await?;
        let started = self.start(trust, listener.redirect(), None).await?;
        show(started.authorization_url());
        let response = timeout(limit, listener.wait_for_response(started.state())).await;
        let Ok((response, browser)) = response else {
            return Err(LoginError::TimedOut { limit });
        };
        let outcome = started.finish(response).await;
        browser.show_outcome(&outcome).await;
        outcome
    }

    /// Begins the login at the authorization server, which will send the browser to `redirect`. If
    /// there are several gateways at that address, the state names the one that has to get the
    /// response.
    ///
    /// # Errors
    /// If something about the login is suspicious and only the configuration is trusted, or onecall
    /// cannot be registered at the authorization server.
    pub async fn start(
        self,
        trust: IssuerTrust,
        redirect: &str,
        gateway: Option<&GatewayId>,
    ) -> Result<StartedLogin, LoginError> {
        if trust == IssuerTrust::Configuration
            && let Some(warning) = self.security_warnings().into_iter().next()
        {
            return Err(warning);
        }
        let Self { target, web, discovery, scopes, .. } = self;
        let client =
            registration::client(&web, &discovery, &target.settings, redirect, &scopes).await?;
        let state = secrecy::random_text().map_err(LoginError::NoRandomness)?;
        let state = Token::new(gateway.map_or_else(|| state.clone(), |it| it.name_in(&state)));
        let verifier = Token::new(secrecy::random_text().map_err(LoginError::NoRandomness)?);
        let url = authorization_url(&discovery, &client, redirect, &state, &verifier, &scopes);
        let redirect = redirect.to_owned();
        Ok(StartedLogin { target, web, discovery, scopes, client, redirect, state, verifier, url })
    }
}

/// A login for which the browser is at the authorization server.
pub struct StartedLogin {
    target: LoginTarget,
    web: LoginHttpClient,
    discovery: Discovery,
    scopes: Vec<String>,
    client: OAuthClient,
    redirect: String,
    state: Token,
    verifier: Token,
    url: Url,
}

impl StartedLogin {
    /// The address that the user has to open.
    #[must_use]
    pub fn authorization_url(&self) -> &str {
        self.url.as_str()
    }

    /// The scheme, host and port of that address, for messages.
    #[must_use]
    pub fn authorization_origin(&self) -> String {
        shown_origin(&self.url)
    }

    /// The value that the response must contain.
    #[must_use]
    pub fn state(&self) -> &str {
        self.state.reveal()
    }

    /// Exchanges the code in the response for tokens, and stores them. The caller has compared the
    /// state of the response.
    ///
    /// # Errors
    /// If the login failed; the stored login is unchanged then.
    pub async fn finish(self, response: AuthorizationResponse) -> Result<LoginGrant, LoginError> {
        if !secrecy::constant_time_eq(&response.state, self.state.reveal()) {
            return Err(LoginError::NoCode);
        }
        let Self { target, web, discovery, client, .. } = self;
        let code = code(response, &discovery)?;
        let (url, resource) = (&discovery.token, discovery.resource.as_str());
        let endpoint = TokenEndpoint { web: &web, url, client: &client, resource };
        let exchanged = endpoint.exchange(&code, &self.verifier, &self.redirect).await;
        let (tokens, granted) = exchanged.map_err(|error| LoginError::NoToken {
            issuer: discovery.shown_issuer(),
            detail: error.to_string(),
        })?;
        let scopes = granted.unwrap_or(self.scopes);
        let granted = LoginGrant { scopes: scopes.clone(), is_renewable: tokens.refresh.is_some() };
        // A secret that is in the configuration is not stored a second time.
        let is_configured = target.settings.client_id.is_some();
        let secret = client.secret.clone().filter(|_| !is_configured);
        let entry = StoredLogin {
            server: target.url.as_str().to_owned(),
            resource: discovery.resource.clone(),
            issuer: discovery.issuer.clone(),
            token_endpoint: discovery.token.as_str().to_owned(),
            revocation_endpoint: discovery.revocation.clone().map(String::from),
            client: OAuthClient { secret, ..client },
            scopes,
            wanted_scopes: Vec::new(),
            tokens: Some(tokens),
        };
        target.place.lock().await?.write(&entry).await?;
        Ok(granted)
    }
}

/// The challenge of a server; `None` if it requires no login.
async fn challenge<E: Display>(
    server: &ServerName,
    asked: impl Future<Output = Result<Option<AuthRequirement>, E>>,
) -> Result<Option<Challenge>, LoginError> {
    let not_reached = |detail: String| LoginError::NotReached { server: server.clone(), detail };
    let Ok(wanted) = timeout(PROBE_TIMEOUT, asked).await else {
        return Err(not_reached(format!("no answer within {}s", PROBE_TIMEOUT.as_secs())));
    };
    match wanted.map_err(|error| not_reached(error.to_string()))? {
        Some(AuthRequirement::Unsupported) => Err(not_reached(
            "it asks for credentials other than a token; set them under 'headers' in its entry"
                .to_owned(),
        )),
        wanted => Ok(wanted.and_then(AuthRequirement::into_challenge)),
    }
}

/// The scopes to request: those of the configuration, else those in the challenge, else those that
/// the server supports; and always those that were granted before.
fn scopes(
    settings: &OAuthConfig,
    discovery: &Discovery,
    challenge: &Challenge,
    earlier: Option<&StoredLogin>,
) -> Vec<String> {
    let lists = [&settings.scopes, &challenge.scopes, &discovery.scopes];
    let basic = lists.into_iter().find(|list| !list.is_empty()).cloned().unwrap_or_default();
    let earlier = earlier.filter(|entry| entry.issuer == discovery.issuer);
    let none = Vec::new();
    let (had, wanted) = earlier.map_or((&none, &none), |it| (&it.scopes, &it.wanted_scopes));
    let mut all = scope::union([&basic, had, wanted]);
    if !all.is_empty() && discovery.offers_offline_access {
        all = scope::union([&all, &vec![OFFLINE_ACCESS.to_owned()]]);
    }
    all
}

/// The scope that requests a refresh token.
const OFFLINE_ACCESS: &str = "offline_access";

/// The URL that the user has to open.
fn authorization_url(
    discovery: &Discovery,
    client: &OAuthClient,
    redirect: &str,
    state: &Token,
    verifier: &Token,
    scopes: &[String],
) -> Url {
    let mut url = discovery.authorization.clone();
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", redirect)
        .append_pair("state", state.reveal())
        .append_pair("code_challenge", &secrecy::challenge_for(verifier.reveal()))
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &discovery.resource);
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    if scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
        // Authorization servers that follow OpenID Connect ignore the scope without this parameter.
        query.append_pair("prompt", "consent");
    }
    drop(query);
    url
}

/// Checks the response of the authorization server and returns its code.
fn code(response: AuthorizationResponse, discovery: &Discovery) -> Result<Token, LoginError> {
    let issuer = discovery.shown_issuer();
    match &response.issuer {
        Some(found) if *found != discovery.issuer_name() => {
            return Err(LoginError::WrongIssuer {
                issuer,
                found: one_line(found, MAX_SHOWN_CHARS),
            });
        }
        None if discovery.responses_name_issuer => {
            return Err(LoginError::UnnamedIssuer { issuer });
        }
        _ => {}
    }
    if let Some(error) = response.error {
        let description = response
            .error_description
            .map(|description| format!(": {description}"))
            .unwrap_or_default();
        let detail = one_line(&format!("{error}{description}"), MAX_SHOWN_CHARS);
        return Err(LoginError::Denied { detail });
    }
    response.code.filter(|code| !code.reveal().is_empty()).ok_or(LoginError::NoCode)
}
