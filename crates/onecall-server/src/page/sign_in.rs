//! How a browser gets its session: with the key in the address, with a token, or at the identity provider.

use std::sync::Mutex;
use std::sync::PoisonError;

use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use maud::html;
use onecall_core::{Digest, Secret};

use super::fields::Fields;
use super::reply::{document, outside, see_other, with_cookie};
use super::session::{Identity, PageCookie};
use super::{Page, PageOwner, SignIn, SignedIn, layout};
use crate::http::PlainBody;

/// The key in the address of a page, which can be used once.
pub(crate) struct OneTimeKey {
    owner: String,
    /// The digest of the key, until it is used.
    digest: Mutex<Option<Digest>>,
}

impl OneTimeKey {
    pub(crate) fn new(owner: PageOwner) -> Self {
        let digest = Mutex::new(Some(Digest::of(owner.key.reveal())));
        Self { owner: owner.name, digest }
    }

    /// The name of the person whose process this is.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether this is the key, and it was not used before. It is used then.
    fn redeem(&self, sent: &str) -> bool {
        let mut digest = self.digest.lock().unwrap_or_else(PoisonError::into_inner);
        digest.take_if(|digest| *digest == Digest::of(sent)).is_some()
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
        signed_in: Option<&SignedIn>,
    ) -> Option<Response<PlainBody>> {
        match (rest, &self.sign_in) {
            ("enter", SignIn::Key(key)) => {
                let query = Fields::parse(head.uri.query().unwrap_or_default().as_bytes());
                if key.redeem(query.raw("key").unwrap_or_default()) {
                    return Some(self.begin(Identity::Local, cookie, "/page/"));
                }
                // A browser that has been let in may load the address again.
                Some(if signed_in.is_some() { see_other("/page/") } else { used_key() })
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
                return self.begin(Identity::Local, cookie, next);
            }
            SignIn::Users(users) => match users.authenticate(token).await {
                Ok(_) => return self.begin(Identity::Token(Secret::new(token)), cookie, next),
                Err(refused) => refused.to_string(),
            },
            SignIn::Token(_) | SignIn::Key(_) => "the token is not valid".to_owned(),
        };
        self.sign_in_page(next, Some(&refused))
    }

    /// Begins a session, and sends the browser on.
    pub(super) fn begin(
        &self,
        identity: Identity,
        cookie: &PageCookie,
        next: &str,
    ) -> Response<PlainBody> {
        match self.sessions.begin(identity) {
            Ok(secret) => with_cookie(see_other(next), cookie.set(&secret)),
            Err(_) => {
                let message = "the system provides no random numbers";
                outside(StatusCode::INTERNAL_SERVER_ERROR, "Not signed in", message)
            }
        }
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
