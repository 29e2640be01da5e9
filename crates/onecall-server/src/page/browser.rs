//! Which person a browser belongs to: the session that its cookie names, and whether that can be used.
//! Sessions of a gateway are in its store, so that all gateways that share the store accept them.

use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use maud::html;
use onecall_core::storage::{BrowserSession, SessionProof, StoreError};
use onecall_core::{Digest, Timestamp, UserName};
use onecall_gateway::{ProvenUser, SessionState};
use onecall_login::random_text;

use super::error::PageError;
use super::fields::Fields;
use super::provider_login::silent_login;
use super::reply::{document, outside, see_other, with_cookie};
use super::session::{PageCookie, SESSION_LIFETIME};
use super::viewer::{Reach, Viewer};
use super::{FETCH_MODE, Page, SignIn, give_back, layout};
use crate::http::PlainBody;

/// What is known about the browser that sends a request.
pub(crate) enum BrowserState {
    /// The browser has a session that can be used.
    SignedIn(SignedIn),
    /// The browser has a session that the identity provider has to confirm again.
    Unconfirmed,
    /// The browser has no session.
    SignedOut,
    /// The sessions cannot be read.
    Unavailable(BrowserStateError),
}

/// Why it is not known whether a browser has signed in.
pub(crate) struct BrowserStateError(PageError);

/// A browser that has signed in.
pub(crate) struct SignedIn {
    pub(super) viewer: Viewer,
    /// The secret in the browser's cookie.
    pub(super) secret: String,
}

impl SignedIn {
    /// The user whose requests end when the user is removed.
    pub(crate) fn user(&self) -> &UserName {
        &self.viewer.principal.user
    }
}

impl Page {
    /// Finds the session of the browser that sends a request.
    pub(crate) async fn browser_state(&self, headers: &HeaderMap, port: u16) -> BrowserState {
        match self.cookie(headers, port).secret(headers) {
            Some(secret) => self.state_of(secret).await,
            None => BrowserState::SignedOut,
        }
    }

    /// Finds the session with this secret.
    pub(super) async fn state_of(&self, secret: &str) -> BrowserState {
        match self.checked_state(secret).await {
            Ok(state) => state,
            Err(error) => BrowserState::Unavailable(BrowserStateError(error)),
        }
    }

    async fn checked_state(&self, secret: &str) -> Result<BrowserState, PageError> {
        let signed_in =
            |viewer| Ok(BrowserState::SignedIn(SignedIn { viewer, secret: secret.to_owned() }));
        if let SignIn::Key(key) = &self.sign_in {
            return match key.is_session(secret) {
                true => signed_in(Viewer::local(key.owner())),
                false => Ok(BrowserState::SignedOut),
            };
        }
        let Some(session) = self.stored_session(secret).await? else {
            return Ok(BrowserState::SignedOut);
        };
        let users = match &self.sign_in {
            SignIn::Users(users) => users,
            SignIn::Token(token) if session.proof == SessionProof::Token(token.digest()) => {
                return signed_in(Viewer::local(UserName::local().as_str()));
            }
            SignIn::Token(_) | SignIn::Key(_) => return Ok(BrowserState::SignedOut),
        };
        match users.check_session(&session).await {
            Ok(SessionState::Valid(principal)) => {
                let reach = if users.is_admin(&principal) { Reach::Everyone } else { Reach::Own };
                signed_in(Viewer::user(principal, reach))
            }
            Ok(SessionState::Unconfirmed) => Ok(BrowserState::Unconfirmed),
            Ok(SessionState::Ended) => Ok(BrowserState::SignedOut),
            Err(refusal) => Err(PageError::Unavailable(refusal)),
        }
    }

    /// Begins a session, and sends the browser to `next`.
    pub(super) async fn begin(
        &self,
        proven: ProvenUser,
        cookie: &PageCookie,
        next: &str,
    ) -> Response<PlainBody> {
        let Ok(secret) = random_text() else {
            let message = "the system provides no random numbers";
            return outside(StatusCode::INTERNAL_SERVER_ERROR, "Not signed in", message);
        };
        let ProvenUser { user, proof } = proven;
        let ends = Timestamp::now().after(SESSION_LIFETIME);
        let session = BrowserSession { digest: Digest::of(&secret), user, proof, ends };
        match self.put_session(session).await {
            Ok(()) => with_cookie(see_other(next), cookie.set(&secret, SESSION_LIFETIME)),
            Err(error) => unavailable(&error.into()),
        }
    }

    /// Confirms the session with the secret `old` if it belongs to this user, so that its forms stay
    /// valid, or else begins a session.
    pub(super) async fn begin_or_confirm(
        &self,
        proven: ProvenUser,
        old: Option<&str>,
        cookie: &PageCookie,
        next: &str,
    ) -> Response<PlainBody> {
        let found = match old {
            Some(old) => self.stored_session(old).await,
            None => Ok(None),
        };
        match found {
            Ok(Some(session)) if session.user == proven.user => {
                let confirmed = BrowserSession { proof: proven.proof, ..session };
                match self.put_session(confirmed).await {
                    Ok(()) => see_other(next),
                    Err(error) => unavailable(&error.into()),
                }
            }
            Ok(_) => self.begin(proven, cookie, next).await,
            Err(error) => unavailable(&error.into()),
        }
    }

    /// Ends a session.
    pub(super) async fn end_session(&self, secret: &str) -> Result<(), StoreError> {
        if let SignIn::Key(key) = &self.sign_in {
            key.end_session();
            return Ok(());
        }
        let digest = Digest::of(secret);
        self.with_store(move |store| store.remove_browser_session(&digest)).await
    }

    /// The response to a browser whose session the identity provider has to confirm. A page is shown after
    /// a round trip to the provider; a form is given back, so that nothing that was typed is lost.
    pub(super) fn confirm(&self, head: &Parts, form: &Fields) -> Response<PlainBody> {
        let address = head.uri.path_and_query().map_or("/page/", |address| address.as_str());
        if head.method == Method::POST {
            return document(StatusCode::UNAUTHORIZED, repeated_form(address, form));
        }
        let mode = head.headers.get(FETCH_MODE);
        match mode.is_none_or(|mode| mode.as_bytes() == b"navigate") {
            true => see_other(&silent_login(address)),
            // A script cannot follow a redirect to the provider; it loads the page again.
            false => self.sign_in_page(address, None),
        }
    }

    /// The response to a form of a browser whose session has ended. A form of `onecall ui` is for reading only: the
    /// next process has another address.
    pub(super) fn late_form(&self, address: &str, form: &Fields) -> Response<PlainBody> {
        let is_key = matches!(self.sign_in, SignIn::Key(_));
        let body = html! {
            p.problem role="alert" { "Nothing was done: your session has ended. What you typed is kept." }
            @if is_key {
                p { "Run " code { "onecall ui" } " again: it prints a new address, which can be opened once." }
                (give_back::typed(form))
            } @else {
                p { a.button.primary href="/page/" target="_blank" rel="noopener" { "Sign in in another tab" } }
                (give_back::form(address, form))
            }
        };
        let status = if is_key { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
        document(status, layout::outside("Your session has ended", &body))
    }

    async fn stored_session(&self, secret: &str) -> Result<Option<BrowserSession>, StoreError> {
        let digest = Digest::of(secret);
        self.with_store(move |store| store.browser_session(&digest, Timestamp::now())).await
    }

    async fn put_session(&self, session: BrowserSession) -> Result<(), StoreError> {
        self.with_store(move |store| store.put_browser_session(&session, Timestamp::now())).await
    }
}

impl BrowserStateError {
    /// The response to a form, which is given back.
    pub(super) fn with_form(self, address: &str, form: &Fields) -> Response<PlainBody> {
        let Self(error) = self;
        let body = html! { (error.body()) (give_back::form(address, form)) };
        document(error.status(), layout::outside(error.title(), &body))
    }
}

impl From<BrowserStateError> for Response<PlainBody> {
    fn from(BrowserStateError(error): BrowserStateError) -> Self {
        unavailable(&error)
    }
}

/// The response while the sessions cannot be read or written.
pub(super) fn unavailable(error: &PageError) -> Response<PlainBody> {
    let body = html! { (error.body()) p { a.button href="" { "Try again" } } };
    document(error.status(), layout::outside(error.title(), &body))
}

/// A page with the fields of a form that came too late, to be sent again.
fn repeated_form(address: &str, form: &Fields) -> maud::Markup {
    let body = html! {
        p.problem role="alert" { "Nothing was done: your login has to be confirmed first. What you typed is kept." }
        p { a.button.primary href=(silent_login("/page/")) target="_blank" rel="noopener" {
            "Confirm the login in another tab" } }
        (give_back::form(address, form))
    };
    layout::outside("Confirm your login", &body)
}
