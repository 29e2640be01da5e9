//! The login at the identity provider: the browser is sent there, and comes back with a code. What the
//! second step needs is in a cookie of the browser, so that every gateway of a fleet can do it.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use maud::html;
use onecall_core::{Digest, Secret};
use onecall_gateway::{Authenticator, LoginPrompt, PendingBrowserLogin};

use super::fields::{Fields, segment, unescaped};
use super::reply::{document, see_other, with_cookie};
use super::session::PageCookie;
use super::{Page, layout, text};
use crate::http::PlainBody;

/// How long a person may take at the provider.
const LIFETIME: Duration = Duration::from_secs(600);

/// The longest address of a page that a browser is sent back to. A cookie has at most 4 kB.
const MAX_ADDRESS: usize = 1_000;

/// Where the provider sends browsers back to.
const CALLBACK: &str = "/page/sign-in/callback";

/// The beginning of a login that asks the person nothing.
const SILENT: &str = "/page/sign-in/provider?silent=1&next=";

/// The errors with which a provider says that it has to ask the person something.
const ASKS_PERSON: [&str; 4] =
    ["login_required", "interaction_required", "consent_required", "account_selection_required"];

/// A login whose browser is at the provider.
struct PendingLogin {
    login: PendingBrowserLogin,
    /// The page that the person wanted to see.
    next: String,
}

impl PendingLogin {
    /// The login as the browser keeps it.
    fn cookie_value(&self) -> String {
        let PendingBrowserLogin { state, nonce, verifier } = &self.login;
        format!("{state}.{nonce}.{}.{}", verifier.reveal(), segment(&self.next))
    }

    /// Reads what a browser has kept, if it brings back the state of that login.
    fn read(cookie: &str, state: &str) -> Option<Self> {
        let mut parts = cookie.splitn(4, '.');
        let (kept, nonce, verifier) = (parts.next()?, parts.next()?, parts.next()?);
        let next = unescaped(parts.next()?).filter(|next| next.starts_with("/page/"))?;
        // Digests are compared, so that the time it takes says nothing about the state.
        let is_same = !kept.is_empty() && Digest::of(kept) == Digest::of(state);
        let login = PendingBrowserLogin {
            state: kept.to_owned(),
            nonce: nonce.to_owned(),
            verifier: Secret::new(verifier),
        };
        is_same.then_some(Self { login, next })
    }
}

/// The address that confirms a login without asking the person, and leads back to `next`.
pub(super) fn silent_login(next: &str) -> String {
    format!("{SILENT}{}", segment(next))
}

impl Page {
    /// Sends the browser to the provider.
    pub(super) async fn begin_provider_login(
        &self,
        users: &Arc<Authenticator>,
        head: &Parts,
        cookie: &PageCookie,
    ) -> Response<PlainBody> {
        let query = Fields::parse(head.uri.query().unwrap_or_default().as_bytes());
        let is_page = |next: &&str| next.starts_with("/page/") && next.len() <= MAX_ADDRESS;
        let next = query.get("next").filter(is_page).unwrap_or("/page/").to_owned();
        let prompt = match query.get("silent") {
            Some(_) => LoginPrompt::None,
            None => LoginPrompt::Allowed,
        };
        match users.begin_browser_login(&self.callback(head), prompt).await {
            Ok(started) => {
                let pending = PendingLogin { login: started.pending, next }.cookie_value();
                let cookie = cookie.named("login").set(&pending, LIFETIME);
                with_cookie(see_other(&started.url), cookie)
            }
            Err(error) => failed(StatusCode::BAD_GATEWAY, &error.to_string()),
        }
    }

    /// Begins or confirms the session of a browser that comes back from the provider.
    pub(super) async fn finish_provider_login(
        &self,
        users: &Arc<Authenticator>,
        head: &Parts,
        cookie: &PageCookie,
    ) -> Response<PlainBody> {
        let query = Fields::parse(head.uri.query().unwrap_or_default().as_bytes());
        let login_cookie = cookie.named("login");
        let kept = login_cookie.value(&head.headers).unwrap_or_default();
        let state = query.raw("state").unwrap_or_default();
        let Some(PendingLogin { login, next }) = PendingLogin::read(kept, state) else {
            let message = "this answer does not belong to a login of this browser; sign in again";
            return failed(StatusCode::BAD_REQUEST, message);
        };
        let Some(code) = query.get("code") else {
            let error = query.get("error").unwrap_or("it gave no reason");
            if ASKS_PERSON.contains(&error) {
                return with_cookie(self.sign_in_page(&next, None), login_cookie.remove());
            }
            let message =
                format!("the identity provider has refused the login: {}", text::line(error, 200));
            return failed(StatusCode::FORBIDDEN, &message);
        };
        match users.finish_browser_login(&login, &self.callback(head), code).await {
            Ok(proven) => {
                let old = cookie.secret(&head.headers);
                let response = self.begin_or_confirm(proven, old, cookie, &next).await;
                with_cookie(response, login_cookie.remove())
            }
            Err(error) => failed(StatusCode::FORBIDDEN, &error.to_string()),
        }
    }

    /// The address that the provider sends browsers back to.
    fn callback(&self, head: &Parts) -> String {
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let origin = self.public_url.clone().unwrap_or_else(|| format!("http://{host}"));
        format!("{origin}{CALLBACK}")
    }
}

fn failed(status: StatusCode, message: &str) -> Response<PlainBody> {
    let body = html! {
        p.problem role="alert" { (message) }
        p { a.button href="/page/" { "Sign in again" } }
    };
    document(status, layout::outside("Not signed in", &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_read_with_its_state_only() {
        let login = PendingBrowserLogin {
            state: "s-1".to_owned(),
            nonce: "n_1".to_owned(),
            verifier: Secret::new("v"),
        };
        let kept = PendingLogin { login, next: "/page/runs?a=b; c.d".to_owned() }.cookie_value();
        assert!(kept.bytes().all(|byte| byte.is_ascii_graphic() && !b";,\"\\".contains(&byte)));
        let read = PendingLogin::read(&kept, "s-1").map(|it| (it.next, it.login.nonce));
        assert_eq!(read, Some(("/page/runs?a=b; c.d".to_owned(), "n_1".to_owned())));
        for (cookie, state) in [
            (kept.as_str(), "s-2"),
            ("", ""),
            (".n.v.%2Fpage%2F", ""),
            ("s.n.v", "s"),
            ("s.n.v.https%3A%2F%2Fevil.example", "s"),
        ] {
            assert!(PendingLogin::read(cookie, state).is_none(), "{cookie} {state}");
        }
    }
}
