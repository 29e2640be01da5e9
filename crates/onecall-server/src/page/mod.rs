//! The page: what ran, what waits for a person, servers and tools, in a browser. It is HTML that is made
//! here, with a little script for what changes while it is open. Each part of it is a file.
//!
//! Whatever a server, a program or a model wrote is hostile text. It gets into a page only through the
//! templates, which escape it, and through `text`, which shows what is invisible.

mod audit;
mod chart;
mod context;
mod error;
mod events;
mod fields;
mod figures;
mod inbox;
mod layout;
mod overview;
mod parts;
mod policy;
mod provider_login;
mod reply;
mod routes;
mod run;
mod run_list;
mod servers;
mod session;
mod sign_in;
mod text;
mod tools;
mod users;
mod verdict;
mod viewer;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use hyper::body::Bytes;
use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use onecall_core::storage::CompleteStore;
use onecall_core::{Secret, Timestamp, UserName};
use onecall_gateway::{Authenticator, Gateway};
use tokio::sync::watch;

use self::context::PageContext;
use self::events::ChangeWatch;
use self::fields::Fields;
use self::figures::FiguresCache;
use self::provider_login::PendingLogins;
use self::reply::{PageReply, see_other};
pub use self::run::{ReplayReport, Replayer};
use self::session::{BrowserSessions, Identity, PageCookie, form_check, is_form_check};
pub(crate) use self::sign_in::OneTimeKey;
use self::viewer::{Reach, Viewer};
use crate::http::{BearerToken, PlainBody};

/// The longest form that is read.
pub(crate) const MAX_FORM_BYTES: usize = 1024 * 1024;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What the page needs.
pub struct PageSettings {
    /// The store whose runs and questions are shown.
    pub store: Arc<dyn CompleteStore>,
    /// The address at which people open the page, if it is not that of the server.
    pub public_url: Option<String>,
    /// Runs recorded programs again, if the page may.
    pub replayer: Option<Arc<dyn Replayer>>,
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
    sessions: BrowserSessions,
    pending_logins: PendingLogins,
    changes: ChangeWatch,
    figures: Arc<FiguresCache>,
    replayer: Option<Arc<dyn Replayer>>,
}

/// A browser that has signed in.
pub(crate) struct SignedIn {
    viewer: Viewer,
    /// The secret in the browser's cookie.
    secret: String,
}

impl SignedIn {
    /// The user whose requests end when the user is removed.
    pub(crate) fn user(&self) -> &UserName {
        &self.viewer.principal.user
    }
}

impl Page {
    pub(crate) fn new(settings: PageSettings, sign_in: SignIn, gateway: Arc<Gateway>) -> Arc<Self> {
        let PageSettings { store, public_url, replayer, owner: _ } = settings;
        Arc::new(Self {
            changes: ChangeWatch::new(Arc::clone(&store)),
            store,
            gateway,
            sign_in,
            public_url,
            sessions: BrowserSessions::default(),
            pending_logins: PendingLogins::default(),
            figures: Arc::default(),
            replayer,
        })
    }

    /// Whether a path belongs to the page.
    pub(crate) fn has_path(path: &str) -> bool {
        path == "/page" || path.starts_with("/page/")
    }

    /// Who has signed in with the browser that sends a request, if anyone has.
    pub(crate) async fn signed_in(&self, headers: &HeaderMap, port: u16) -> Option<SignedIn> {
        let secret = self.cookie(port).secret(headers)?.to_owned();
        let viewer = self.viewer(self.sessions.identity(&secret)?).await?;
        Some(SignedIn { viewer, secret })
    }

    /// The person with this identity; `None` if the user or the token was removed.
    async fn viewer(&self, identity: Identity) -> Option<Viewer> {
        let users = match &self.sign_in {
            SignIn::Key(key) => return Some(Viewer::local(key.owner())),
            SignIn::Token(_) => return Some(Viewer::local(UserName::local().as_str())),
            SignIn::Users(users) => users,
        };
        let principal = match identity {
            Identity::Token(token) => users.authenticate(token.reveal()).await.ok()?,
            Identity::Provider(principal) => {
                let is_removed = users.is_removed(&principal.user).await.unwrap_or(true);
                (!is_removed).then_some(principal)?
            }
            Identity::Local => return None,
        };
        let reach = if users.is_admin(&principal) { Reach::Everyone } else { Reach::Own };
        Some(Viewer::user(principal, reach))
    }

    /// Answers a request. `stopped` ends event streams.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        signed_in: Option<SignedIn>,
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
        let cookie = self.cookie(address.port());
        if let Some(response) =
            self.respond_outside(rest, head, &form, &cookie, signed_in.as_ref()).await
        {
            return response;
        }
        let Some(SignedIn { viewer, secret }) = signed_in else {
            return self.sign_in_page(path, None);
        };
        if head.method == Method::POST
            && !is_form_check(form.raw("check").unwrap_or_default(), &secret)
        {
            let message =
                "this form does not belong to your session: load the page again, and repeat it";
            return reply::outside(StatusCode::FORBIDDEN, "Not allowed", message);
        }
        if rest == "sign-out" && head.method == Method::POST {
            self.sessions.end(&secret);
            return reply::with_cookie(see_other("/page/"), cookie.remove());
        }
        if rest == "events" {
            return self.events(viewer, stopped);
        }
        let context = self.context(viewer, &secret, rest, head, form).await;
        let is_post = head.method == Method::POST;
        PageReply::into_response(routes::respond(context, rest, is_post).await)
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
            figures: Arc::clone(&self.figures),
            replayer: self.replayer.clone(),
            viewer,
            part,
            query: Fields::parse(head.uri.query().unwrap_or_default().as_bytes()),
            form,
            check: form_check(secret),
            now: Timestamp::now(),
            redactor: self.gateway.redactor(),
            open: OnceLock::new(),
        }
    }

    fn cookie(&self, port: u16) -> PageCookie {
        // The identity provider sends browsers here from another site, so that cookie is not strict.
        let same_site = match self.sign_in {
            SignIn::Key(_) | SignIn::Token(_) => "Strict",
            SignIn::Users(_) => "Lax",
        };
        PageCookie::new(self.public_url.as_deref(), port, same_site)
    }
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
