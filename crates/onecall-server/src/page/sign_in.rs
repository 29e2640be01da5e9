//! How a browser gets its session: with the key in the address, with a token, or at the identity provider.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use maud::html;
use onecall_core::storage::SessionProof;
use onecall_core::{Digest, UserName};
use onecall_gateway::ProvenUser;
use onecall_login::random_text;

use super::fields::Fields;
use super::reply::{document, outside, see_other, with_cookie};
use super::session::{PageCookie, SESSION_LIFETIME};
use super::{Page, PageOwner, SignIn, layout};
use crate::http::PlainBody;

/// The key in the address of a page, which can be used once. It gives one browser a session, which ends
/// with this process at the latest.
pub(crate) struct OneTimeKey {
    owner: String,
    state: Mutex<KeyState>,
}

/// What has become of a key.
enum KeyState {
    /// The key with this digest was not used yet.
    Unused(Digest),
    /// The key was used: the browser whose cookie has the secret with this digest has a session.
    Session { digest: Digest, ends: Instant },
    /// The session has ended.
    Ended,
}

impl OneTimeKey {
    pub(crate) fn new(owner: PageOwner) -> Self {
        let state = Mutex::new(KeyState::Unused(Digest::of(owner.key.reveal())));
        Self { owner: owner.name, state }
    }

    /// The name of the person whose process this is.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Uses the key, and returns the secret of the session; `None` if this is not the key, or it was used
    /// before.
    fn redeem(&self, sent: &str) -> Option<std::io::Result<String>> {
        let mut state = self.lock();
        if !matches!(&*state, KeyState::Unused(digest) if *digest == Digest::of(sent)) {
            return None;
        }
        Some(random_text().inspect(|secret| {
            let ends = Instant::now() + SESSION_LIFETIME;
            *state = KeyState::Session { digest: Digest::of(secret), ends };
        }))
    }

    /// Whether a browser with this secret has the session.
    pub(super) fn is_session(&self, secret: &str) -> bool {
        match &*self.lock() {
            KeyState::Session { digest, ends } => {
                *digest == Digest::of(secret) && Instant::now() < *ends
            }
            KeyState::Unused(_) | KeyState::Ended => false,
        }
    }

    /// Ends the session.
    pub(super) fn end_session(&self) {
        *self.lock() = KeyState::Ended;
    }

    fn lock(&self) -> MutexGuard<'_, KeyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Page {
    /// Answers requests that need no session.
    pub(super) async fn respond_outside(
        &self,
        rest: &str,
        head: &Parts,
        form: &Fields,
        cookie: &PageCookie,
        is_signed_in: bool,
    ) -> Option<Response<PlainBody>> {
        match (rest, &self.sign_in) {
            ("enter", SignIn::Key(key)) => {
                let query = Fields::parse(head.uri.query().unwrap_or_default().as_bytes());
                Some(match key.redeem(query.raw("key").unwrap_or_default()) {
                    Some(Ok(secret)) => {
                        with_cookie(see_other("/page/"), cookie.set(&secret, SESSION_LIFETIME))
                    }
                    Some(Err(_)) => {
                        let message = "the system provides no random numbers";
                        outside(StatusCode::INTERNAL_SERVER_ERROR, "Not signed in", message)
                    }
                    // A browser that has been let in may load the address again.
                    None if is_signed_in => see_other("/page/"),
                    None => used_key(),
                })
            }
            ("sign-in", SignIn::Token(_) | SignIn::Users(_)) if head.method == Method::POST => {
                Some(self.sign_in_with_token(form, cookie).await)
            }
            ("sign-in/provider", SignIn::Users(users)) if users.has_browser_login() => {
                Some(self.begin_provider_login(users, head, cookie).await)
            }
            ("sign-in/callback", SignIn::Users(users)) if users.has_browser_login() => {
                Some(self.finish_provider_login(users, head, cookie).await)
            }
            ("sign-in", _) => Some(see_other("/page/")),
            _ => None,
        }
    }

    async fn sign_in_with_token(&self, form: &Fields, cookie: &PageCookie) -> Response<PlainBody> {
        let token = form.get("token").unwrap_or_default();
        let next = form.get("next").filter(|next| next.starts_with("/page/")).unwrap_or("/page/");
        let refused = match &self.sign_in {
            SignIn::Token(expected) if expected.matches(token.as_bytes()) => {
                let proof = SessionProof::Token(expected.digest());
                let proven = ProvenUser { user: UserName::local(), proof };
                return self.begin(proven, cookie, next).await;
            }
            SignIn::Users(users) => match users.sign_in(token).await {
                Ok(proven) => return self.begin(proven, cookie, next).await,
                Err(refused) => refused.to_string(),
            },
            SignIn::Token(_) | SignIn::Key(_) => "the token is not valid".to_owned(),
        };
        self.sign_in_page(next, Some(&refused))
    }

    /// The page that asks a person to sign in, and leads to `next`.
    pub(super) fn sign_in_page(&self, next: &str, problem: Option<&str>) -> Response<PlainBody> {
        let how = match &self.sign_in {
            SignIn::Key(_) => return used_key(),
            SignIn::Token(_) => html! { "The token that clients of this gateway send." },
            SignIn::Users(_) => html! {
                "Your personal token. " code { "onecall users token NAME" } " makes one."
            },
        };
        let accepts_tokens =
            !matches!(&self.sign_in, SignIn::Users(users) if !users.config().tokens);
        let has_provider =
            matches!(&self.sign_in, SignIn::Users(users) if users.has_browser_login());
        let body = html! {
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            @if has_provider {
                p { a.button.primary href={ "/page/sign-in/provider?next=" (super::fields::segment(next)) } { "Sign in at the identity provider" } }
            }
            @if accepts_tokens { form.stack method="post" action="/page/sign-in" {
                input type="hidden" name="next" value=(next);
                // Password managers want a user beside each password.
                input type="text" name="user" autocomplete="username" value="onecall" hidden;
                label for="token" { "Token" }
                input #token type="password" name="token" required autofocus autocomplete="current-password"
                    aria-describedby="token-help";
                p.help #token-help { (how) }
                button type="submit" { "Sign in" }
            } }
        };
        let status = match problem {
            Some(_) => StatusCode::FORBIDDEN,
            None => StatusCode::UNAUTHORIZED,
        };
        document(status, layout::outside("Sign in", &body))
    }
}

/// The page for a browser without a session, where only a key gives one.
fn used_key() -> Response<PlainBody> {
    let body = html! {
        p.problem role="alert" { "This address was used before, or belongs to another browser." }
        p { "Run " code { "onecall ui" } " again: it prints a new address, which can be opened once." }
    };
    document(StatusCode::FORBIDDEN, layout::outside("Not signed in", &body))
}
