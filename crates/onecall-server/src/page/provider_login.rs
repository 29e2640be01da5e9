//! The login at the identity provider: the browser is sent there, and comes back with a code. A cookie keeps
//! the two steps in one browser.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use maud::html;
use onecall_core::Digest;
use onecall_gateway::{Authenticator, StartedBrowserLogin};
use onecall_login::random_text;

use super::fields::Fields;
use super::reply::{document, see_other, with_cookie};
use super::session::{Identity, PageCookie};
use super::{Page, layout, text};
use crate::http::PlainBody;

/// How long a person may take at the provider.
const LIFETIME: Duration = Duration::from_secs(600);

/// How many logins may be under way at once. The oldest makes room for the next.
const MAX_PENDING: usize = 1_000;

/// Where the provider sends browsers back to.
const CALLBACK: &str = "/page/sign-in/callback";

/// The logins whose browsers are at the provider.
#[derive(Default)]
pub(super) struct PendingLogins(Mutex<HashMap<Digest, PendingLogin>>);

struct PendingLogin {
    started: StartedBrowserLogin,
    /// The page that the person wanted to see.
    next: String,
    ends: Instant,
}

impl PendingLogins {
    fn add(&self, secret: &str, started: StartedBrowserLogin, next: String) {
        let (now, mut pending) = (Instant::now(), self.lock());
        pending.retain(|_, login| login.ends > now);
        if pending.len() >= MAX_PENDING {
            let first = pending.iter().min_by_key(|(_, login)| login.ends).map(|it| *it.0);
            first.map(|first| pending.remove(&first));
        }
        pending.insert(Digest::of(secret), PendingLogin { started, next, ends: now + LIFETIME });
    }

    /// Takes the login of a browser that brings back this state.
    fn take(&self, secret: &str, state: &str) -> Option<PendingLogin> {
        let login = self.lock().remove(&Digest::of(secret))?;
        let is_same = Digest::of(&login.started.state) == Digest::of(state);
        (is_same && login.ends > Instant::now()).then_some(login)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, PendingLogin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let next = query.get("next").filter(|next| next.starts_with("/page/")).unwrap_or("/page/");
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let origin = self.public_url.clone().unwrap_or_else(|| format!("http://{host}"));
        let started = match users.begin_browser_login(&format!("{origin}{CALLBACK}")).await {
            Ok(started) => started,
            Err(error) => return failed(StatusCode::BAD_GATEWAY, &error.to_string()),
        };
        let Ok(secret) = random_text() else {
            let message = "the system provides no random numbers";
            return failed(StatusCode::INTERNAL_SERVER_ERROR, message);
        };
        let response = see_other(&started.url);
        self.pending_logins.add(&secret, started, next.to_owned());
        with_cookie(response, cookie.named("login").set(&secret))
    }

    /// Begins the session of a browser that comes back from the provider.
    pub(super) async fn finish_provider_login(
        &self,
        users: &Arc<Authenticator>,
        head: &Parts,
        cookie: &PageCookie,
    ) -> Response<PlainBody> {
        let query = Fields::parse(head.uri.query().unwrap_or_default().as_bytes());
        let login_cookie = cookie.named("login");
        let secret = login_cookie.secret(&head.headers).unwrap_or_default();
        let state = query.raw("state").unwrap_or_default();
        let Some(PendingLogin { started, next, .. }) = self.pending_logins.take(secret, state)
        else {
            let message = "this answer does not belong to a login of this browser; sign in again";
            return failed(StatusCode::BAD_REQUEST, message);
        };
        let Some(code) = query.get("code") else {
            let error = query.get("error").unwrap_or("it gave no reason");
            let message =
                format!("the identity provider has refused the login: {}", text::line(error, 200));
            return failed(StatusCode::FORBIDDEN, &message);
        };
        match users.finish_browser_login(started, code).await {
            Ok(principal) => {
                let response = self.begin(Identity::Provider(principal), cookie, &next);
                with_cookie(response, login_cookie.remove())
            }
            Err(error) => failed(StatusCode::FORBIDDEN, &error.to_string()),
        }
    }
}

fn failed(status: StatusCode, message: &str) -> Response<PlainBody> {
    let body = html! {
        p.problem role="alert" { (message) }
        p { a.button href="/page/" { "Sign in again" } }
    };
    document(status, layout::outside("Not signed in", &body))
}
