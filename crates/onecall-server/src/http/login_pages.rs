//! The pages on which a user logs in to a remote server. The first one says for which user and server
//! the login is, and asks who is at the browser; after that the browser goes to the authorization
//! server and comes back to the last page. A secret in a cookie keeps the steps in one browser.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HeaderName, HeaderValue,
    REFERRER_POLICY, REFRESH, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};
use onecall_core::Digest;
use onecall_gateway::{
    CALLBACK_PATH, LOGIN_PATH, LoginContinuation, LoginQuestion, ProofKind, UserLoginError,
    UserLogins,
};
use onecall_login::{AuthorizationResponse, random_text};

use super::html::{Form, Page, STYLE};
use super::request_body::{BodyMemory, ReceivedBody};
use super::response::PlainBody;

/// The longest form that is read.
const MAX_FORM_BYTES: usize = 16 * 1024;

/// How long the browser keeps its cookie: as long as a link and the login after it can take.
const COOKIE_SECONDS: u32 = 1200;

/// The length of the secret in the cookie.
const SECRET_LENGTH: usize = 43;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a path belongs to these pages.
pub(super) fn is_login_path(path: &str) -> bool {
    path.starts_with(LOGIN_PATH)
}

/// Reads the form of a request for one of these pages.
///
/// # Errors
/// The response, if the form cannot be read.
pub(super) async fn read_form(
    head: &Parts,
    body: Incoming,
    memory: &BodyMemory,
) -> Result<ReceivedBody, Response<PlainBody>> {
    if head.method != Method::POST {
        return Ok(ReceivedBody::default());
    }
    match memory.read(body).await {
        Ok(received) if received.bytes.len() <= MAX_FORM_BYTES => Ok(received),
        Ok(_) => Err(problem(StatusCode::PAYLOAD_TOO_LARGE, "the form is too long")),
        Err(status) => Err(problem(status, "the form could not be read")),
    }
}

/// What a request for one of these pages is about: the secret of a link, or the state of a login. Of
/// several gateways, it names the one that has to answer.
pub(super) fn handle_in(head: &Parts) -> String {
    match head.uri.path() {
        CALLBACK_PATH => {
            let response = AuthorizationResponse::parse(head.uri.query().unwrap_or_default());
            response.state().to_owned()
        }
        path => path.strip_prefix(LOGIN_PATH).unwrap_or_default().to_owned(),
    }
}

/// Answers a request for one of these pages.
pub(super) async fn respond(
    logins: &UserLogins,
    head: &Parts,
    body: &Bytes,
) -> Response<PlainBody> {
    LoginRequest::new(logins, head).respond(body).await
}

/// A request for one of these pages.
struct LoginRequest<'a> {
    logins: &'a UserLogins,
    head: &'a Parts,
    cookie: LoginCookie<'a>,
}

impl<'a> LoginRequest<'a> {
    fn new(logins: &'a UserLogins, head: &'a Parts) -> Self {
        let cookie = LoginCookie::read(&head.headers, logins.public_url());
        Self { logins, head, cookie }
    }

    async fn respond(&self, body: &Bytes) -> Response<PlainBody> {
        let path = self.head.uri.path();
        let is_read = matches!(self.head.method, Method::GET | Method::HEAD);
        if path == CALLBACK_PATH {
            return if is_read { self.finish().await } else { not_allowed("GET, HEAD") };
        }
        let link = path.strip_prefix(LOGIN_PATH).unwrap_or_default();
        match self.head.method {
            _ if is_read => self.ask(link).await,
            Method::POST => self.confirm(link, body).await,
            _ => not_allowed("GET, HEAD, POST"),
        }
    }

    /// Shows for whom the login is, and asks who is at the browser.
    async fn ask(&self, link: &str) -> Response<PlainBody> {
        let question = match self.logins.question(link).await {
            Ok(question) => question,
            Err(error) => return failed(&error),
        };
        let (secret, is_new) = match self.cookie.secret {
            Some(secret) => (secret.to_owned(), false),
            None => match random_text() {
                Ok(secret) => (secret, true),
                Err(_) => {
                    let message = "the system provides no random numbers";
                    return problem(StatusCode::INTERNAL_SERVER_ERROR, message);
                }
            },
        };
        let mut response = question_page(&question, &check_of(&secret, link), None);
        if is_new && let Ok(cookie) = HeaderValue::from_str(&self.cookie.set_text(&secret)) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        response
    }

    /// Checks who is at the browser, and sends it on to the authorization server.
    async fn confirm(&self, link: &str, body: &Bytes) -> Response<PlainBody> {
        let is_foreign = self
            .head
            .headers
            .get(FETCH_SITE)
            .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
        let (check, answer) = form_fields(body);
        let expected = self.cookie.secret.map(|secret| check_of(secret, link));
        let Some(secret) = self.cookie.secret.filter(|_| {
            !is_foreign
                && expected.is_some_and(|expected| Digest::of(expected) == Digest::of(check))
        }) else {
            let message = "this form was not sent from the login page in this browser. Cookies must be \
                           allowed for this site; open the link again";
            return problem(StatusCode::FORBIDDEN, message);
        };
        match self.logins.confirm(link, &answer, secret).await {
            Ok(continuation) => continuation_page(&continuation),
            Err(error @ UserLoginError::WrongAnswer { .. }) => {
                let problem = error.to_string();
                match self.logins.question(link).await {
                    Ok(question) => {
                        question_page(&question, &check_of(secret, link), Some(&problem))
                    }
                    Err(error) => failed(&error),
                }
            }
            Err(error) => failed(&error),
        }
    }

    /// Ends the login after the authorization server has sent the browser back.
    async fn finish(&self) -> Response<PlainBody> {
        let response = AuthorizationResponse::parse(self.head.uri.query().unwrap_or_default());
        match self.logins.finish(response, self.cookie.secret).await {
            Ok(LoginQuestion { user, server, .. }) => {
                let page = Page::new("Logged in")
                    .facts(&[("onecall user", user.as_str()), ("server", server.as_str())])
                    .paragraph(
                        "Repeat the call that asked for this login. You can close this page.",
                    );
                html(StatusCode::OK, page)
            }
            Err(error) => failed(&error),
        }
    }
}

/// The cookie that names the browser.
struct LoginCookie<'a> {
    name: &'static str,
    is_secure: bool,
    secret: Option<&'a str>,
}

impl<'a> LoginCookie<'a> {
    fn read(headers: &'a HeaderMap, public_url: &str) -> Self {
        let is_secure = public_url.starts_with("https://");
        // With this prefix, browsers accept the cookie from this host and over TLS only.
        let name = if is_secure { "__Host-onecall-login" } else { "onecall-login" };
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';')).map(str::trim);
        let mut values = pairs.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let is_secret = |secret: &&str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            secret.len() == SECRET_LENGTH && secret.bytes().all(is_allowed)
        };
        Self { name, is_secure, secret: values.next().filter(is_secret) }
    }

    /// The header that sets the cookie.
    fn set_text(&self, secret: &str) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        // Lax and not Strict: the authorization server sends the browser here from another site.
        format!(
            "{}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={COOKIE_SECONDS}{secure}",
            self.name
        )
    }
}

/// The value of the hidden form field: it can be known only to a page that this browser got from here.
fn check_of(secret: &str, link: &str) -> String {
    Digest::of(format!("form of the login page\0{secret}\0{link}")).to_string()
}

/// The fields `check` and `answer` of a form.
fn form_fields(body: &[u8]) -> (String, String) {
    let (mut check, mut answer) = (String::new(), String::new());
    for (name, value) in url::form_urlencoded::parse(body) {
        match &*name {
            "check" => check = value.into_owned(),
            "answer" => answer = value.into_owned(),
            _ => {}
        }
    }
    (check, answer)
}

fn question_page(
    question: &LoginQuestion,
    check: &str,
    problem: Option<&str>,
) -> Response<PlainBody> {
    let LoginQuestion { user, server, proof } = question;
    let mut page = Page::new("Log in to a server")
        .facts(&[("onecall user", user.as_str()), ("server", server.as_str())]);
    if let Some(problem) = problem {
        page = page.problem(problem);
    }
    let warning = format!(
        "Go on only if you are the onecall user {user} and have just asked for this login. After it, \
         programs of {user} can use the account that you log in with. If another person sent you this \
         link, close this page: that person would get access to your account."
    );
    let (label, is_secret) = match proof {
        ProofKind::UserName => ("Your onecall user name", false),
        ProofKind::PersonalToken => ("Your personal onecall token", true),
    };
    let form = Form { check, label, is_secret, button: "Log in" };
    let status = if problem.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    let mut response = html(status, page.paragraph(&warning).form(&form));
    // With no-referrer, browsers would send the form without the origin that it comes from.
    let same_origin = HeaderValue::from_static("same-origin");
    response.headers_mut().insert(REFERRER_POLICY, same_origin);
    response
}

/// Sends the browser on. A redirect would be stopped by the rule that forms go to this site only.
fn continuation_page(continuation: &LoginContinuation) -> Response<PlainBody> {
    let LoginContinuation { url, origin } = continuation;
    let text = format!("Log in at {origin}");
    let page = Page::new("One moment").link(url, &text);
    let mut response = html(StatusCode::OK, page);
    if let Ok(refresh) = HeaderValue::from_str(&format!("0; url={url}")) {
        response.headers_mut().insert(REFRESH, refresh);
    }
    response
}

fn failed(error: &UserLoginError) -> Response<PlainBody> {
    let status = match error {
        UserLoginError::Link(_) | UserLoginError::Removed { .. } => StatusCode::NOT_FOUND,
        UserLoginError::Changed { .. } => StatusCode::CONFLICT,
        UserLoginError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        UserLoginError::Login { .. } => StatusCode::BAD_GATEWAY,
        UserLoginError::WrongAnswer { .. } => StatusCode::FORBIDDEN,
        UserLoginError::NoSuchLogin => StatusCode::BAD_REQUEST,
    };
    problem(status, &error.to_string())
}

fn problem(status: StatusCode, text: &str) -> Response<PlainBody> {
    html(status, Page::new("Not logged in").problem(text))
}

fn not_allowed(methods: &'static str) -> Response<PlainBody> {
    let mut response =
        problem(StatusCode::METHOD_NOT_ALLOWED, "this page cannot be used like this");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// A page with the headers that keep everything else out of it.
fn html(status: StatusCode, page: Page) -> Response<PlainBody> {
    let mut response = Response::new(Full::new(Bytes::from(page.finish())).boxed());
    *response.status_mut() = status;
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
        STANDARD.encode(Digest::of(STYLE).into_bytes())
    );
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

#[cfg(test)]
mod tests;
