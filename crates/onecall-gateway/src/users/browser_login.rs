//! The login of a person to the page at the identity provider: OpenID Connect with an authorization code,
//! PKCE, a state that the browser keeps, and a nonce in the ID token.

use std::io;
use std::time::Duration;

use onecall_config::OidcConfig;
use onecall_core::Secret;
use onecall_core::text::one_line;
use onecall_login::{challenge_for, random_text};
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use thiserror::Error;
use tokio::time::timeout;

use super::issuer::{self, Issuer, IssuerError};
use super::{Authenticator, LoginRefusal, ProvenUser};

/// The time limit for the requests of one step of a login.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest text of the provider that is shown.
const MAX_SHOWN: usize = 200;

/// Signs people in at the identity provider.
pub(super) struct BrowserLogin {
    issuer: Issuer,
    client_id: String,
    client_secret: Option<Secret>,
}

/// What the provider may ask a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginPrompt {
    /// Everything that the provider needs.
    Allowed,
    /// Nothing: the provider answers at once, with an error if the person has to log in.
    None,
}

/// A login that has begun.
#[derive(Debug)]
pub struct StartedBrowserLogin {
    /// The address at which the person logs in.
    pub url: String,
    /// What has to be kept for the browser until it comes back.
    pub pending: PendingBrowserLogin,
}

/// What the end of a login is checked with.
#[derive(Debug)]
pub struct PendingBrowserLogin {
    /// The state that the browser must bring back.
    pub state: String,
    /// The nonce that the ID token must contain.
    pub nonce: String,
    /// The PKCE verifier, which the code can only be redeemed with.
    pub verifier: Secret,
}

/// Why a login at the identity provider has failed.
#[derive(Debug, Error)]
pub enum BrowserLoginError {
    /// The configuration has no client id for the page.
    #[error(
        "people cannot sign in at the identity provider: `client_id` in `oidc` is not configured"
    )]
    NotConfigured,
    /// The provider cannot be used.
    #[error("the identity provider cannot be used: {0}")]
    Provider(String),
    /// The provider has refused the login.
    #[error("the identity provider has refused the login: {0}")]
    Refused(String),
    /// The user is not let in.
    #[error(transparent)]
    User(#[from] LoginRefusal),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers")]
    Random(#[from] io::Error),
}

impl From<IssuerError> for BrowserLoginError {
    fn from(error: IssuerError) -> Self {
        Self::Provider(error.to_string())
    }
}

/// The answer of the token endpoint.
#[derive(Deserialize)]
struct Granted {
    id_token: Option<String>,
}

impl BrowserLogin {
    pub(super) fn new(config: &OidcConfig) -> Option<Self> {
        Some(Self {
            issuer: Issuer::new(&config.issuer)?,
            client_id: config.client_id.clone()?,
            client_secret: config.client_secret.clone(),
        })
    }

    /// An address of the provider, if it may be used.
    fn endpoint(&self, address: Option<String>) -> Result<Url, BrowserLoginError> {
        let address = address.unwrap_or_default();
        let url = Url::parse(&address).ok().filter(|url| self.issuer.is_safe(url));
        url.ok_or_else(|| {
            let shown = one_line(&address, MAX_SHOWN);
            BrowserLoginError::Provider(format!("'{shown}' is not an https:// address"))
        })
    }

    async fn begin(
        &self,
        redirect: &str,
        prompt: LoginPrompt,
    ) -> Result<StartedBrowserLogin, BrowserLoginError> {
        let metadata = self.issuer.fetch_metadata().await?;
        let mut url = self.endpoint(metadata.authorization_endpoint)?;
        let (state, nonce, verifier) = (random_text()?, random_text()?, random_text()?);
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", redirect)
            .append_pair("scope", "openid profile")
            .append_pair("state", &state)
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &challenge_for(&verifier))
            .append_pair("code_challenge_method", "S256");
        if prompt == LoginPrompt::None {
            url.query_pairs_mut().append_pair("prompt", "none");
        }
        let pending = PendingBrowserLogin { state, nonce, verifier: Secret::new(verifier) };
        Ok(StartedBrowserLogin { url: url.into(), pending })
    }

    /// The ID token for a code.
    async fn redeem(
        &self,
        pending: &PendingBrowserLogin,
        redirect: &str,
        code: &str,
    ) -> Result<String, BrowserLoginError> {
        let metadata = self.issuer.fetch_metadata().await?;
        let url = self.endpoint(metadata.token_endpoint)?;
        let mut form = url.clone();
        form.set_query(None);
        form.query_pairs_mut()
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect)
            .append_pair("client_id", &self.client_id)
            .append_pair("code_verifier", pending.verifier.reveal());
        if let Some(secret) = &self.client_secret {
            form.query_pairs_mut().append_pair("client_secret", secret.reveal());
        }
        let form = form.query().unwrap_or_default().to_owned();
        let document = issuer::send(&url, |client| {
            let request = client.post(url.clone()).body(form);
            request.header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        });
        let document = document.await.map_err(|error| match error {
            // A code that was used before, or a wrong client.
            IssuerError::Status { status, .. } if status.is_client_error() => {
                BrowserLoginError::Refused(format!("it answers {status}"))
            }
            error => error.into(),
        })?;
        let granted: Option<Granted> = serde_json::from_slice(&document).ok();
        let missing = || BrowserLoginError::Provider("it sent no ID token".to_owned());
        granted.and_then(|granted| granted.id_token).ok_or_else(missing)
    }
}

impl Authenticator {
    /// Whether people can sign in at the identity provider.
    #[must_use]
    pub fn has_browser_login(&self) -> bool {
        self.browser_login.is_some()
    }

    /// Begins a login. The provider sends the browser back to `redirect`.
    ///
    /// # Errors
    /// If the provider cannot be used.
    pub async fn begin_browser_login(
        &self,
        redirect: &str,
        prompt: LoginPrompt,
    ) -> Result<StartedBrowserLogin, BrowserLoginError> {
        let login = self.browser_login.as_ref().ok_or(BrowserLoginError::NotConfigured)?;
        in_time(login.begin(redirect, prompt)).await
    }

    /// Ends a login with the code that the browser has brought back to `redirect`.
    ///
    /// # Errors
    /// If the provider does not confirm the login, or the user is not let in.
    pub async fn finish_browser_login(
        &self,
        pending: &PendingBrowserLogin,
        redirect: &str,
        code: &str,
    ) -> Result<ProvenUser, BrowserLoginError> {
        let (Some(login), Some(verifier)) = (&self.browser_login, &self.verifier) else {
            return Err(BrowserLoginError::NotConfigured);
        };
        let token = in_time(login.redeem(pending, redirect, code)).await?;
        let identity = verifier.verify_id_token(&token, &login.client_id, &pending.nonce).await?;
        self.log_in(identity.clone()).await?;
        Ok(ProvenUser::by_provider(identity))
    }
}

async fn in_time<T>(
    step: impl Future<Output = Result<T, BrowserLoginError>>,
) -> Result<T, BrowserLoginError> {
    let late = || Err(BrowserLoginError::Provider(format!("no answer within {STEP_TIMEOUT:?}")));
    timeout(STEP_TIMEOUT, step).await.unwrap_or_else(|_| late())
}
