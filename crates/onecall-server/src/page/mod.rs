//! The page: what ran, what waits for a person, servers and tools, in a browser. It is HTML that is made
//! here, with a little script for what changes while it is open. Each part of it is a file.
//!
//! Whatever a server, a program or a model wrote is hostile text. It gets into a page only through the
//! templates, which escape it, and through `text`, which shows what is invisible.

mod audit;
mod browser;
mod chart;
mod context;
mod damaged_store;
mod difference;
mod error;
mod events;
mod fields;
mod figures;
mod give_back;
mod inbox;
mod layout;
mod older_runs;
mod overview;
mod parts;
mod policy;
mod provider_login;
mod reply;
mod room;
mod routes;
mod run;
mod run_list;
mod server_logins;
mod servers;
mod session;
mod sign_in;
mod text;
mod tools;
mod unfinished_runs;
mod users;
mod verdict;
mod viewer;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use hyper::body::Bytes;
use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use maud::html;
use onecall_core::storage::{CompleteStore, StoreError};
use onecall_core::{Secret, Timestamp};
use onecall_gateway::{Authenticator, Gateway};
use tokio::sync::watch;

pub(crate) use self::browser::BrowserState;
use self::browser::SignedIn;
use self::context::PageContext;
use self::events::ChangeWatch;
use self::fields::Fields;
use self::reply::{PageReply, see_other};
pub use self::run::{ReplayError, ReplayReport, Replayer};
use self::session::{PageCookie, form_check, is_form_check};
pub(crate) use self::sign_in::OneTimeKey;
use self::viewer::Viewer;
use crate::http::{BearerToken, PlainBody};

/// The longest form that is read.
pub(crate) const MAX_FORM_BYTES: usize = 1024 * 1024;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What the page needs.
pub struct PageSettings {
    /// The store whose runs and questions are shown.
    pub store: Arc<dyn CompleteStore>,
    /// The address at which people open the page, if it is not that of the server.
    pub public_url: Option<String>,
    /// Runs recorded programs again.
    pub replayer: Arc<dyn Replayer>,
    /// The person whose process this is. If it is given, the server has only the page, and the page is
    /// opened with a key that is used once.
    pub owner: Option<PageOwner>,
}

/// The person whose process shows the page.
pub struct PageOwner {
    /// The name under which answers are noted.
    pub name: String,
    /// The key in the address of the page, which can be used once.
    pub key: Secret,
}

/// How people prove who they are.
pub(crate) enum SignIn {
    /// With the key in the address.
    Key(OneTimeKey),
    /// With the token of a gateway without users.
    Token(BearerToken),
    /// With a personal token, or at the identity provider.
    Users(Arc<Authenticator>),
}

/// The page.
pub(crate) struct Page {
    store: Arc<dyn CompleteStore>,
    gateway: Arc<Gateway>,
    sign_in: SignIn,
    public_url: Option<String>,
    changes: ChangeWatch,
    replayer: Arc<dyn Replayer>,
}

impl Page {
    /// Creates the page. Must be called inside a tokio runtime.
    pub(crate) fn new(settings: PageSettings, sign_in: SignIn, gateway: Arc<Gateway>) -> Arc<Self> {
        let PageSettings { store, public_url, replayer, owner: _ } = settings;
        let page = Arc::new(Self {
            changes: ChangeWatch::new(Arc::clone(&store), Arc::clone(&gateway)),
            store,
            gateway,
            sign_in,
            public_url,
            replayer,
        });
        tokio::spawn(older_runs::add_to_figures(Arc::downgrade(&page)));
        page
    }

    /// Whether a path belongs to the page.
    pub(crate) fn has_path(path: &str) -> bool {
        path == "/page" || path.starts_with("/page/")
    }

    /// Answers a request. `stopped` ends event streams.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        browser: BrowserState,
        head: &Parts,
        body: &Bytes,
        address: SocketAddr,
        stopped: watch::Receiver<bool>,
    ) -> Response<PlainBody> {
        let path = head.uri.path();
        if !matches!(head.method, Method::GET | Method::HEAD | Method::POST) {
            return reply::not_allowed();
        }
        let Some(rest) = path.strip_prefix("/page/") else { return see_other("/page/") };
        let form = Fields::parse(if head.method == Method::POST { body } else { &[] });
        if head.method == Method::POST && !is_same_origin(&head.headers) {
            let message = "this form was sent by another site";
            return reply::outside(StatusCode::FORBIDDEN, "Not allowed", message);
        }
        let target = head.uri.path_and_query().map_or(path, |target| target.as_str());
        if head.method == Method::POST && self.gateway.is_draining() && begins_work(rest) {
            return stopping(target, &form);
        }
        let cookie = self.cookie(&head.headers, address.port());
        let is_signed_in = matches!(browser, BrowserState::SignedIn(_));
        if let Some(response) = self.respond_outside(rest, head, &form, &cookie, is_signed_in).await
        {
            return response;
        }
        let SignedIn { viewer, secret } = match browser {
            BrowserState::SignedIn(signed_in) => signed_in,
            BrowserState::Unconfirmed => return self.confirm(head, &form),
            BrowserState::SignedOut if head.method == Method::POST => {
                return self.late_form(target, &form);
            }
            BrowserState::SignedOut => return self.sign_in_page(target, None),
            BrowserState::Unavailable(error) if head.method == Method::POST => {
                return error.with_form(target, &form);
            }
            BrowserState::Unavailable(error) => return error.into(),
        };
        let intent = match head.method == Method::POST {
            false => Intent::Read,
            true if is_form_check(form.raw("check").unwrap_or_default(), &secret) => Intent::Send,
            true => Intent::SendStale,
        };
        if rest == "sign-out" && intent == Intent::Send {
            return match self.end_session(&secret).await {
                Ok(()) => reply::with_cookie(see_other("/page/"), cookie.remove()),
                Err(error) => browser::unavailable(&error.into()),
            };
        }
        if rest == "events" {
            return self.events(secret, stopped);
        }
        let context = self.context(viewer, &secret, rest, head, form).await;
        PageReply::into_response(routes::respond(context, rest, intent).await)
    }

    async fn context(
        &self,
        viewer: Viewer,
        secret: &str,
        rest: &str,
        head: &Parts,
        form: Fields,
    ) -> PageContext {
        let part = rest.split('/').next().unwrap_or_default().to_owned();
        PageContext {
            store: Arc::clone(&self.store),
            gateway: self.gateway.for_principal(&viewer.principal).await,
            is_here: matches!(self.sign_in, SignIn::Key(_)),
            replayer: Arc::clone(&self.replayer),
            viewer,
            part,
            address: head.uri.path_and_query().map_or("/page/", |it| it.as_str()).to_owned(),
            query: Fields::parse(head.uri.query().unwrap_or_default().as_bytes()),
            form,
            check: form_check(secret),
            now: Timestamp::now(),
            redactor: self.gateway.redactor(),
            open: OnceLock::new(),
        }
    }

    /// Reads or writes the store on a thread that may wait for it.
    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn CompleteStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.store);
        let stopped = |_| StoreError::Disabled { reason: "this process ends".to_owned() };
        tokio::task::spawn_blocking(move || work(store.as_ref())).await.map_err(stopped)?
    }

    fn cookie(&self, headers: &HeaderMap, port: u16) -> PageCookie {
        // The identity provider sends browsers here from another site, so that cookie is not strict.
        let same_site = match self.sign_in {
            SignIn::Key(_) | SignIn::Token(_) => "Strict",
            SignIn::Users(_) => "Lax",
        };
        let cookie = PageCookie::new(self.public_url.as_deref(), port, same_site);
        // A gateway with one token has no `public_url`. A browser that reaches it over TLS says so with its forms.
        let origin = headers.get(ORIGIN);
        match origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https://")) {
            true => cookie.over_tls(),
            false => cookie,
        }
    }
}

/// Whether the form at this address begins something. An answer in the inbox lets something end that has begun.
fn begins_work(rest: &str) -> bool {
    rest != "sign-out" && !rest.starts_with("inbox/")
}

/// The response to a form while the gateway stops. The form is given back.
fn stopping(address: &str, form: &Fields) -> Response<PlainBody> {
    let body = html! {
        p.problem role="alert" { "Nothing was done: this gateway stops, and begins nothing new. What you typed is kept: send it again in a moment." }
        (give_back::form(address, form))
    };
    let document = layout::outside("The gateway stops", &body);
    reply::document(StatusCode::SERVICE_UNAVAILABLE, document)
}

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    /// To read a page.
    Read,
    /// To do what the form of a page says.
    Send,
    /// To do what a form says that does not belong to the session of the browser.
    SendStale,
}

/// Whether a request comes from a page of this server. Every browser says so when it sends a form.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let is_foreign = headers
        .get(FETCH_SITE)
        .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(ORIGIN).and_then(|origin| Some(origin.split_once("://")?.1));
    !is_foreign && origin.is_some() && origin == text(HOST)
}
