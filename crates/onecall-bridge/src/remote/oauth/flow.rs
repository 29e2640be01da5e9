//! One login from beginning to end: find out where, send the person there, hear the
//! answer, get the tokens and keep them. And the end of a login.

use std::time::Duration;

use onecall_config::{OAuth, RemoteTransport, ServerConfig, ServerLimits, Transport};
use onecall_core::ServerName;
use reqwest::{Method, Url};
use tokio::time::timeout;

use super::callback::{Listener, Told};
use super::challenge::{Challenge, Wanted};
use super::discovery::{Discovery, discover};
use super::error::LoginError;
use super::registration::{self, Client};
use super::token::{TokenEndpoint, TokenError};
use super::vault::{Entry, Slot};
use super::web::Web;
use super::{Token, scope, secrecy};
use crate::plain::plain;
use crate::remote::endpoint::Endpoint;

/// How long the server may take to say what it wants.
const ASKING: Duration = Duration::from_secs(20);

/// How much of what others say is shown, in characters.
const MAX_WORDS: usize = 200;

/// A login that worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// What it allows, as far as that is known.
    pub scopes: Vec<String>,
    /// Whether it lasts beyond its first token.
    pub renews_itself: bool,
}

/// What came of the end of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedOut {
    /// There was no login.
    WasNot,
    /// It is forgotten here.
    Forgotten {
        /// Why the tokens may still be worth something to whoever has them.
        not_revoked: Option<String>,
    },
}

/// A server that one can log in to.
struct Site<'a> {
    name: &'a ServerName,
    transport: &'a RemoteTransport,
    /// How its transports begin.
    methods: &'static [Method],
    settings: &'a OAuth,
    url: Url,
    slot: Slot,
}

impl<'a> Site<'a> {
    fn of(server: &'a ServerConfig) -> Result<Self, LoginError> {
        let name = &server.name;
        let (transport, methods): (_, &[Method]) = match &server.transport {
            Transport::Stdio(_) => return Err(LoginError::NotRemote { server: name.clone() }),
            Transport::Sse(transport) => (transport, &[Method::GET]),
            Transport::Auto(transport) | Transport::Http(transport) => {
                (transport, &[Method::POST, Method::GET])
            }
        };
        let Some(settings) = &transport.oauth else {
            return Err(LoginError::Configured { server: name.clone() });
        };
        let url = Url::parse(&transport.url)
            .map_err(|_| LoginError::NoAddress { text: "'url'".to_owned() })?;
        let slot = Slot::of_user(&url, settings.client_id.as_deref());
        let slot = slot.ok_or(LoginError::NoVault)?;
        Ok(Self { name, transport, methods, settings, url, slot })
    }

    /// What the server says when it is asked without a token; `None` if it lets us in.
    async fn challenge(&self) -> Result<Option<Challenge>, LoginError> {
        let not_reached =
            |detail: String| LoginError::NotReached { server: self.name.clone(), detail };
        let endpoint =
            Endpoint::new(self.transport, None, ServerLimits::default().max_message_bytes);
        let endpoint = endpoint.map_err(|error| not_reached(error.to_string()))?;
        let Ok(wanted) = timeout(ASKING, endpoint.wanted(self.methods)).await else {
            return Err(not_reached(format!("no answer within {}s", ASKING.as_secs())));
        };
        match wanted.map_err(|error| not_reached(error.to_string()))? {
            Some(Wanted::Other) => Err(not_reached(
                "it wants something else than a token; see 'headers' in its entry".to_owned(),
            )),
            wanted => Ok(wanted.and_then(Wanted::into_challenge)),
        }
    }
}

/// Logs a person in to `server`. `show` gets the address that they have to visit in
/// a browser on this machine, and they have `limit` for that.
///
/// # Errors
/// If it did not work; nothing has changed then.
pub async fn log_in(
    server: &ServerConfig,
    limit: Duration,
    show: impl FnOnce(&str),
) -> Result<Granted, LoginError> {
    let site = Site::of(server)?;
    let web = Web::new(&site.url);
    super::address::check(&site.url, &site.url)?;
    let challenge = site.challenge().await?;
    let discovery = discover(&web, challenge.as_ref().unwrap_or(&Challenge::default())).await?;
    if challenge.is_none() && discovery.is_guess {
        return Err(LoginError::NotAsked { server: site.name.clone() });
    }
    let scopes = scopes(&site, &discovery, challenge.unwrap_or_default());
    let listener = Listener::open(site.settings.redirect_port).await?;
    let redirect = listener.redirect();
    let client = registration::client(&web, &discovery, site.settings, redirect, &scopes).await?;
    let state = secrecy::unguessable().map_err(LoginError::NoRandomness)?;
    let verifier = Token::new(secrecy::unguessable().map_err(LoginError::NoRandomness)?);
    show(address(&discovery, &client, redirect, &state, &verifier, &scopes).as_str());

    let Ok((told, browser)) = timeout(limit, listener.told()).await else {
        return Err(LoginError::TimedOut { limit });
    };
    let outcome = async {
        let code = code(told, &state, &discovery)?;
        let (url, resource) = (&discovery.token, discovery.resource.as_str());
        let endpoint = TokenEndpoint { web: &web, url, client: &client, resource };
        let exchanged = endpoint.exchange(&code, &verifier, redirect).await;
        let (tokens, granted) = exchanged.map_err(|error| {
            let (TokenError::Refused(detail) | TokenError::Failed(detail)) = error;
            LoginError::NoToken { issuer: discovery.shown_issuer(), detail }
        })?;
        let scopes = granted.unwrap_or_else(|| scopes.clone());
        let granted = Granted { scopes: scopes.clone(), renews_itself: tokens.refresh.is_some() };
        // What the configuration keeps secret is not written down once more.
        let is_configured = site.settings.client_id.is_some();
        let secret = client.secret.clone().filter(|_| !is_configured);
        let entry = Entry {
            server: site.url.as_str().to_owned(),
            resource: discovery.resource.clone(),
            issuer: discovery.issuer.clone(),
            token_endpoint: discovery.token.as_str().to_owned(),
            revocation_endpoint: discovery.revocation.clone().map(String::from),
            client: Client { secret, ..client.clone() },
            scopes,
            wanted_scopes: Vec::new(),
            tokens: Some(tokens),
        };
        site.slot.lock().await?.write(&entry)?;
        Ok(granted)
    }
    .await;
    browser.tell(&outcome).await;
    outcome
}

/// Forgets the login to `server`, and makes its tokens worthless where that is
/// possible.
///
/// # Errors
/// If it cannot be forgotten.
pub async fn log_out(server: &ServerConfig) -> Result<LoggedOut, LoginError> {
    let site = Site::of(server)?;
    let held = site.slot.lock().await?;
    let entry = held.read();
    held.remove()?;
    let entry = match entry {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(LoggedOut::WasNot),
        Err(error) => return Ok(LoggedOut::Forgotten { not_revoked: Some(error.to_string()) }),
    };
    let Some(tokens) = &entry.tokens else {
        return Ok(LoggedOut::Forgotten { not_revoked: None });
    };
    let Some(url) = &entry.revocation_endpoint else {
        let why = "the authorization server has no place to say so".to_owned();
        return Ok(LoggedOut::Forgotten { not_revoked: Some(why) });
    };
    let url = &super::address::read(url, &site.url)?;
    let web = Web::new(&site.url);
    let mut client = entry.client.clone();
    if let Some(secret) = &site.settings.client_secret {
        client.secret = Some(Token::new(secret.reveal()));
    }
    let endpoint = TokenEndpoint { web: &web, url, client: &client, resource: &entry.resource };
    let mut not_revoked = None;
    let access = Some((&tokens.access, "access_token"));
    let refresh = tokens.refresh.as_ref().map(|token| (token, "refresh_token"));
    for (token, hint) in refresh.into_iter().chain(access) {
        if let Err(why) = endpoint.revoke(token, hint).await {
            not_revoked = Some(why);
        }
    }
    Ok(LoggedOut::Forgotten { not_revoked })
}

/// What to ask for: what the configuration says, else what the server asks for, else
/// what it can give; and never less than what was granted before.
fn scopes(site: &Site<'_>, discovery: &Discovery, challenge: Challenge) -> Vec<String> {
    let lists = [&site.settings.scopes, &challenge.scopes, &discovery.scopes];
    let basic = lists.into_iter().find(|list| !list.is_empty()).cloned().unwrap_or_default();
    // An earlier login that cannot be read is replaced.
    let earlier = site.slot.read().ok().flatten();
    let earlier = earlier.filter(|entry| entry.issuer == discovery.issuer);
    let (had, wanted) = earlier.map_or_else(Default::default, |it| (it.scopes, it.wanted_scopes));
    let mut all = scope::union([&basic, &had, &wanted]);
    if !all.is_empty() && discovery.offers_offline_access {
        all = scope::union([&all, &vec![OFFLINE.to_owned()]]);
    }
    all
}

/// The scope that asks for a token to renew others with.
const OFFLINE: &str = "offline_access";

/// Where the person has to go.
fn address(
    discovery: &Discovery,
    client: &Client,
    redirect: &str,
    state: &str,
    verifier: &Token,
    scopes: &[String],
) -> Url {
    let mut url = discovery.authorization.clone();
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", redirect)
        .append_pair("state", state)
        .append_pair("code_challenge", &secrecy::challenge_for(verifier.reveal()))
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &discovery.resource);
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    if scopes.iter().any(|scope| scope == OFFLINE) {
        // Without it, that scope is left out by those who follow OpenID Connect.
        query.append_pair("prompt", "consent");
    }
    drop(query);
    url
}

/// The code in an answer that is to our question.
fn code(told: Told, state: &str, discovery: &Discovery) -> Result<Token, LoginError> {
    if !secrecy::are_equal(&told.state, state) {
        return Err(LoginError::WrongState);
    }
    if let Some(issuer) = &discovery.issuer {
        let found = match &told.issuer {
            Some(found) if found == issuer => None,
            Some(found) => Some(plain(found, MAX_WORDS)),
            None => discovery.answers_name_issuer.then(|| "nobody".to_owned()),
        };
        if let Some(found) = found {
            return Err(LoginError::WrongIssuer { issuer: discovery.shown_issuer(), found });
        }
    }
    if let Some(error) = told.error {
        let words = told.error_description.map(|words| format!(": {words}")).unwrap_or_default();
        let detail = plain(&format!("{error}{words}"), MAX_WORDS);
        return Err(LoginError::Denied { detail });
    }
    told.code.filter(|code| !code.reveal().is_empty()).ok_or(LoginError::NoCode)
}
