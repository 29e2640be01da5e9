//! One interactive login from beginning to end: find the authorization server, send the user there,
//! receive the response, exchange the code for tokens and store them.

use std::fmt::Display;
use std::time::Duration;

use onecall_config::{OAuth, ServerConfig};
use onecall_core::ServerName;
use onecall_core::text::plain;
use reqwest::Url;
use tokio::time::timeout;

use crate::callback::{Listener, Told};
use crate::challenge::{Challenge, Wanted};
use crate::discovery::{Discovery, discover};
use crate::error::LoginError;
use crate::registration::{self, Client};
use crate::site::Site;
use crate::token::TokenEndpoint;
use crate::vault::Entry;
use crate::web::Web;
use crate::{Token, address, scope, secrecy};

/// How long the server may take to say which login it requires.
const ASKING: Duration = Duration::from_secs(20);

/// The longest text from outside that is shown, in characters.
const MAX_WORDS: usize = 200;

/// The result of a successful login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The granted scopes, as far as they are known.
    pub scopes: Vec<String>,
    /// Whether there is a refresh token, so that the login outlasts its first token.
    pub renews_itself: bool,
}

/// On whose word the login trusts the authorization server that the server's metadata name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Only the configuration: a login with [doubts](PendingLogin::doubts) is rejected.
    Configuration,
    /// The user, who was asked about each of the doubts.
    Person,
}

/// A login whose authorization server is known. No secret has left this machine yet.
pub struct PendingLogin<'a> {
    site: Site<'a>,
    web: Web,
    discovery: Discovery,
    scopes: Vec<String>,
    /// The issuer of the tokens of the previous login.
    earlier_issuer: Option<String>,
}

impl<'a> PendingLogin<'a> {
    /// Finds out where to log in to `server`. `asked` resolves to the server's response to a
    /// request without a token, or to `None` if the server requires no login. It is polled only
    /// after the configuration entry was found to support logins.
    ///
    /// # Errors
    /// If the authorization server cannot be determined, or is not safe.
    pub async fn prepare<E: Display>(
        server: &'a ServerConfig,
        asked: impl Future<Output = Result<Option<Wanted>, E>>,
    ) -> Result<Self, LoginError> {
        let site = Site::of(server)?;
        let web = Web::new(&site.url);
        address::check(&site.url, &site.url)?;
        let challenge = challenge(site.name, asked).await?;
        let asked = challenge.clone().unwrap_or_default();
        let discovery = discover(&web, &asked, site.settings.issuer.as_deref()).await?;
        if challenge.is_none() && discovery.is_guess {
            return Err(LoginError::NotAsked { server: site.name.clone() });
        }
        // A previous login that cannot be read is replaced.
        let earlier = site.slot.read().ok().flatten();
        let scopes = scopes(site.settings, &discovery, &asked, earlier.as_ref());
        let earlier_issuer = earlier.and_then(|entry| entry.issuer);
        Ok(Self { site, web, discovery, scopes, earlier_issuer })
    }

    /// The signs of a possible attack on this login, each as the error that it becomes if the user
    /// does not allow it. With an `issuer` in the configuration there are none.
    #[must_use]
    pub fn doubts(&self) -> Vec<LoginError> {
        let Site { name, settings, url, .. } = &self.site;
        if settings.issuer.is_some() {
            return Vec::new();
        }
        let (mut doubts, issuer) = (Vec::new(), self.discovery.shown_issuer());
        let elsewhere = self.discovery.elsewhere(settings.client_id.is_none());
        if !elsewhere.is_empty() {
            let (server, endpoints) = ((*name).clone(), elsewhere.join(", "));
            doubts.push(LoginError::ForeignEndpoints { server, issuer: issuer.clone(), endpoints });
        }
        let is_own = self.discovery.token.origin() == url.origin();
        let is_known =
            self.earlier_issuer.is_some() && self.earlier_issuer == self.discovery.issuer;
        if settings.client_secret.is_some() && !is_own && !is_known {
            doubts.push(LoginError::SecretForIssuer { server: (*name).clone(), issuer });
        }
        doubts
    }

    /// Logs the user in. `show` gets the URL to open in a browser on this machine; the user has the
    /// time `limit` for that.
    ///
    /// # Errors
    /// If the login failed; the stored login is unchanged then.
    pub async fn complete(
        self,
        trust: Trust,
        limit: Duration,
        show: impl FnOnce(&str),
    ) -> Result<Granted, LoginError> {
        if trust == Trust::Configuration
            && let Some(doubt) = self.doubts().into_iter().next()
        {
            return Err(doubt);
        }
        let Self { site, web, discovery, scopes, .. } = &self;
        let listener = Listener::open(site.settings.redirect_port).await?;
        let redirect = listener.redirect();
        let client = registration::client(web, discovery, site.settings, redirect, scopes).await?;
        let state = secrecy::unguessable().map_err(LoginError::NoRandomness)?;
        let verifier = Token::new(secrecy::unguessable().map_err(LoginError::NoRandomness)?);
        show(visit(discovery, &client, redirect, &state, &verifier, scopes).as_str());

        let Ok((told, browser)) = timeout(limit, listener.answer(&state)).await else {
            return Err(LoginError::TimedOut { limit });
        };
        let outcome = self.exchange(told, client, redirect, &verifier).await;
        browser.tell(&outcome).await;
        outcome
    }

    /// Exchanges the code for tokens, and stores them.
    async fn exchange(
        &self,
        told: Told,
        client: Client,
        redirect: &str,
        verifier: &Token,
    ) -> Result<Granted, LoginError> {
        let Self { site, web, discovery, .. } = self;
        let code = code(told, discovery)?;
        let (url, resource) = (&discovery.token, discovery.resource.as_str());
        let endpoint = TokenEndpoint { web, url, client: &client, resource };
        let exchanged = endpoint.exchange(&code, verifier, redirect).await;
        let (tokens, granted) = exchanged.map_err(|error| LoginError::NoToken {
            issuer: discovery.shown_issuer(),
            detail: error.to_string(),
        })?;
        let scopes = granted.unwrap_or_else(|| self.scopes.clone());
        let granted = Granted { scopes: scopes.clone(), renews_itself: tokens.refresh.is_some() };
        // A secret that is in the configuration is not stored a second time.
        let is_configured = site.settings.client_id.is_some();
        let secret = client.secret.clone().filter(|_| !is_configured);
        let entry = Entry {
            server: site.url.as_str().to_owned(),
            resource: discovery.resource.clone(),
            issuer: discovery.issuer.clone(),
            token_endpoint: discovery.token.as_str().to_owned(),
            revocation_endpoint: discovery.revocation.clone().map(String::from),
            client: Client { secret, ..client },
            scopes,
            wanted_scopes: Vec::new(),
            tokens: Some(tokens),
        };
        site.slot.lock().await?.write(&entry)?;
        Ok(granted)
    }
}

/// The challenge of a server; `None` if it requires no login.
async fn challenge<E: Display>(
    server: &ServerName,
    asked: impl Future<Output = Result<Option<Wanted>, E>>,
) -> Result<Option<Challenge>, LoginError> {
    let not_reached = |detail: String| LoginError::NotReached { server: server.clone(), detail };
    let Ok(wanted) = timeout(ASKING, asked).await else {
        return Err(not_reached(format!("no answer within {}s", ASKING.as_secs())));
    };
    match wanted.map_err(|error| not_reached(error.to_string()))? {
        Some(Wanted::Other) => Err(not_reached(
            "it wants something else than a token; see 'headers' in its entry".to_owned(),
        )),
        wanted => Ok(wanted.and_then(Wanted::into_challenge)),
    }
}

/// The scopes to request: those of the configuration, else those in the challenge, else those that
/// the server supports; and always those that were granted before.
fn scopes(
    settings: &OAuth,
    discovery: &Discovery,
    challenge: &Challenge,
    earlier: Option<&Entry>,
) -> Vec<String> {
    let lists = [&settings.scopes, &challenge.scopes, &discovery.scopes];
    let basic = lists.into_iter().find(|list| !list.is_empty()).cloned().unwrap_or_default();
    let earlier = earlier.filter(|entry| entry.issuer == discovery.issuer);
    let none = Vec::new();
    let (had, wanted) = earlier.map_or((&none, &none), |it| (&it.scopes, &it.wanted_scopes));
    let mut all = scope::union([&basic, had, wanted]);
    if !all.is_empty() && discovery.offers_offline_access {
        all = scope::union([&all, &vec![OFFLINE.to_owned()]]);
    }
    all
}

/// The scope that requests a refresh token.
const OFFLINE: &str = "offline_access";

/// The URL that the user has to open.
fn visit(
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
        // Authorization servers that follow OpenID Connect ignore the scope without this parameter.
        query.append_pair("prompt", "consent");
    }
    drop(query);
    url
}

/// Checks the response of the authorization server and returns its code.
fn code(told: Told, discovery: &Discovery) -> Result<Token, LoginError> {
    let issuer = discovery.shown_issuer();
    match &told.issuer {
        Some(found) if *found != discovery.issuer_name() => {
            return Err(LoginError::WrongIssuer { issuer, found: plain(found, MAX_WORDS) });
        }
        None if discovery.answers_name_issuer => return Err(LoginError::UnnamedIssuer { issuer }),
        _ => {}
    }
    if let Some(error) = told.error {
        let words = told.error_description.map(|words| format!(": {words}")).unwrap_or_default();
        let detail = plain(&format!("{error}{words}"), MAX_WORDS);
        return Err(LoginError::Denied { detail });
    }
    told.code.filter(|code| !code.reveal().is_empty()).ok_or(LoginError::NoCode)
}
