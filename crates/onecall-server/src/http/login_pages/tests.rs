//! Logins of users through the pages, with the test as the browser and a real authorization server.

use std::path::Path;
use std::sync::Arc;

use hyper::Request;
use onecall_config::{Config, Directories, ServerConfig};
use onecall_core::UserName;
use onecall_gateway::{BrowserProof, TypedUserName};
use onecall_login::{UserCredentials, UserVault};
use testkit::authorization::{AuthorizationServer, Misbehaviour};
use testkit::remote::HttpFixture;
use testkit::web;

use super::*;

const PUBLIC_URL: &str = "https://onecall.example.com";

/// A gateway with a remote server to which each user logs in.
struct Setup {
    authority: AuthorizationServer,
    fixture: HttpFixture,
    folder: tempfile::TempDir,
    vault: Arc<UserVault>,
    logins: UserLogins,
}

/// What a browser sees.
#[derive(Debug)]
struct Seen {
    status: u16,
    headers: HeaderMap,
    body: String,
}

/// A browser with its cookies.
#[derive(Default)]
struct Browser {
    cookie: Option<String>,
}

fn user(name: &str) -> UserName {
    UserName::parse(name).unwrap()
}

impl Setup {
    fn new() -> Self {
        Self::with(AuthorizationServer::start(), Arc::new(TypedUserName))
    }

    fn with(authority: AuthorizationServer, proof: Arc<dyn BrowserProof>) -> Self {
        let fixture = HttpFixture::start(&["--guarded-by", &authority.issuer()]);
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state").display().to_string();
        let directories = Directories::from_environment(&|name| {
            (name == "XDG_STATE_HOME").then(|| state.clone())
        });
        let store = onecall_store::open_durable(folder.path().join("store.db"), 1);
        let vault = Arc::new(UserVault::new(store, &directories));
        let logins = UserLogins::new(Arc::clone(&vault), PUBLIC_URL, None).with_proof(proof);
        let setup = Self { authority, fixture, folder, vault, logins };
        setup.logins.set_servers(&[setup.server("")]);
        setup
    }

    /// The entry of the server, with further keys.
    fn server(&self, more: &str) -> ServerConfig {
        let url = self.fixture.url("/mcp");
        let text = format!("servers: [{{ name: far, url: '{url}', credentials: user{more} }}]");
        let config = Config::parse(&text, Path::new("c.yaml"), &|_| None).unwrap();
        config.servers.into_iter().next().unwrap()
    }

    /// The path of a new link.
    fn link(&self, name: &str) -> String {
        let link = self.logins.links().login_link(&user(name), &self.server("").name).unwrap();
        link.strip_prefix(PUBLIC_URL).unwrap().to_owned()
    }

    async fn send(&self, method: Method, path: &str, browser: &mut Browser, body: &str) -> Seen {
        self.send_with(method, path, browser, body, None).await
    }

    async fn send_with(
        &self,
        method: Method,
        path: &str,
        browser: &mut Browser,
        body: &str,
        site: Option<&str>,
    ) -> Seen {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(cookie) = &browser.cookie {
            request = request.header(COOKIE, format!("other=1; {cookie}"));
        }
        if let Some(site) = site {
            request = request.header(FETCH_SITE, site);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let body = Bytes::from(body.to_owned());
        let response = LoginRequest::new(&self.logins, &head).respond(&body).await;
        let (head, body) = response.into_parts();
        if let Some(cookie) = head.headers.get(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            browser.cookie = Some(pair.to_owned());
        }
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Seen { status: head.status.as_u16(), headers: head.headers, body }
    }

    async fn open(&self, path: &str, browser: &mut Browser) -> Seen {
        self.send(Method::GET, path, browser, "").await
    }

    /// Opens a link and answers the question.
    async fn confirm(&self, path: &str, browser: &mut Browser, answer: &str) -> Seen {
        let page = self.open(path, browser).await;
        let body = format!("check={}&answer={}", page.check(), web::percent_encode(answer));
        self.send(Method::POST, path, browser, &body).await
    }

    /// Goes to the authorization server, and returns the path that it sends the browser to.
    fn authorize(&self, page: &Seen) -> String {
        let there = web::get(&page.link());
        let location = there.location.unwrap_or_else(|| panic!("{page:?}"));
        location.strip_prefix(PUBLIC_URL).unwrap().to_owned()
    }

    /// Logs a user in from beginning to end.
    async fn log_in(&self, name: &str) -> Seen {
        let mut browser = Browser::default();
        let confirmed = self.confirm(&self.link(name), &mut browser, name).await;
        let back = self.authorize(&confirmed);
        self.open(&back, &mut browser).await
    }

    /// The token that calls of a user are made with.
    async fn token(&self, name: &str) -> Option<String> {
        let credentials = UserCredentials::new(Some(Arc::clone(&self.vault)), None);
        let login = credentials.login(&user(name), &self.server("")).unwrap();
        login.token().await.unwrap().map(|token| token.reveal().to_owned())
    }
}

impl Seen {
    /// The value of the hidden field.
    fn check(&self) -> &str {
        let (_, rest) = self.body.split_once("name=\"check\" value=\"").unwrap_or_else(|| {
            panic!("{self:?}");
        });
        rest.split_once('"').unwrap().0
    }

    /// The address of the link on the page.
    fn link(&self) -> String {
        let (_, rest) = self.body.split_once("href=\"").unwrap_or_else(|| panic!("{self:?}"));
        let address = rest.split_once('"').unwrap().0.replace("&amp;", "&");
        let refresh = self.headers[REFRESH].to_str().unwrap();
        assert_eq!(refresh, format!("0; url={address}"));
        address
    }

    fn header(&self, name: HeaderName) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

#[tokio::test]
async fn two_users_log_in_with_two_accounts() {
    let setup = Setup::new();
    assert_eq!(setup.token("anna").await, None);
    for name in ["anna", "bob"] {
        let page = setup.log_in(name).await;
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
        assert!(page.body.contains(&format!("<strong>{name}</strong>")), "{page:?}");
    }
    let [anna, bob] = [setup.token("anna").await.unwrap(), setup.token("bob").await.unwrap()];
    assert_ne!(anna, bob);
    assert_eq!(setup.token("eve").await, None);
    for request in setup.authority.requests_to("/register") {
        assert!(request.body.contains("\"application_type\":\"web\""), "{request:?}");
    }
    // Each login was made for this server, and comes back to the address that people see.
    for request in setup.authority.requests_to("/authorize") {
        assert_eq!(request.fields["redirect_uri"], format!("{PUBLIC_URL}{CALLBACK_PATH}"));
        assert_eq!(request.fields["code_challenge_method"], "S256");
        assert_eq!(request.fields["resource"], setup.fixture.url("/mcp"));
    }

    // No token is in the store or another file.
    for entry in std::fs::read_dir(setup.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        for secret in setup.authority.secrets() {
            let is_in = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_in, "{secret} is in {}", path.display());
        }
    }

    // A token that has expired is renewed for its user alone.
    setup.authority.revoke_access_tokens();
    let credentials = UserCredentials::new(Some(Arc::clone(&setup.vault)), None);
    let login = credentials.login(&user("anna"), &setup.server("")).unwrap();
    let old = login.token().await.unwrap();
    let renewed = login.token_after_rejection(old).await.unwrap();
    assert_eq!(setup.token("anna").await.as_deref(), Some(renewed.reveal()));
    assert_eq!(setup.token("bob").await, Some(bob));
    assert_eq!(setup.authority.refresh_count(), 1);
}

#[tokio::test]
async fn processes_renew_a_token_once() {
    let setup = Setup::new();
    setup.log_in("anna").await;
    setup.authority.revoke_access_tokens();
    let credentials = UserCredentials::new(Some(Arc::clone(&setup.vault)), None);
    let login = || credentials.login(&user("anna"), &setup.server("")).unwrap();
    let logins = [login(), login(), login()];
    let old = logins[0].token().await.unwrap();
    let renewals = logins.each_ref().map(|login| login.token_after_rejection(old.clone()));
    let [one, two, three] = renewals;
    let (one, two, three) = tokio::join!(one, two, three);
    let tokens = [one.unwrap(), two.unwrap(), three.unwrap()];
    assert!(tokens.iter().all(|token| *token == tokens[0]), "they differ");
    assert_eq!(setup.authority.refresh_count(), 1);
}

#[tokio::test]
async fn the_first_page_says_for_whom_the_login_is() {
    let setup = Setup::new();
    let name = "<b>\"mallory\"</b>";
    let mut browser = Browser::default();
    let page = setup.open(&setup.link(name), &mut browser).await;
    assert_eq!(page.status, 200);
    let shown = "&lt;b&gt;&quot;mallory&quot;&lt;/b&gt;";
    assert!(page.body.contains(&format!("<dt>onecall user</dt><dd><strong>{shown}</strong>")));
    assert!(page.body.contains("<dt>server</dt><dd><strong>far</strong>"), "{page:?}");
    assert!(!page.body.contains("<b>") && !page.body.contains("<script"), "{page:?}");
    let cookie = page.header(SET_COOKIE);
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax; Max-Age=1200; Secure");
    assert_eq!(pair.strip_prefix("__Host-onecall-login=").unwrap().len(), 43);
    let policy = page.header(CONTENT_SECURITY_POLICY);
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(policy.ends_with("; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"));
    assert_eq!(page.header(CACHE_CONTROL), "no-store");
    assert_eq!(page.header(REFERRER_POLICY), "same-origin");
    assert_eq!(page.header(X_CONTENT_TYPE_OPTIONS), "nosniff");
    // The browser keeps its secret for other links.
    let again = setup.open(&setup.link(name), &mut browser).await;
    assert_eq!(again.headers.get(SET_COOKIE), None);
    // A program that only looks at the link does not use it up.
    assert_eq!(setup.confirm(&setup.link(name), &mut browser, name).await.status, 200);
}

#[tokio::test]
async fn a_link_is_used_once_by_its_user() {
    let setup = Setup::new();
    let (link, mut browser) = (setup.link("anna"), Browser::default());
    let wrong = setup.confirm(&link, &mut browser, "bob").await;
    assert_eq!(wrong.status, 403);
    let expected = "this is not the name of the user that the link is for";
    assert!(wrong.body.contains(expected), "{wrong:?}");
    assert_eq!(setup.confirm(&link, &mut browser, " anna ").await.status, 200);
    let again = setup.open(&link, &mut browser).await;
    assert_eq!(again.status, 404);
    assert!(again.body.contains("this link cannot be used"), "{again:?}");
    for forged in ["/login/", "/login/x", "/login/../mcp", &format!("{link}x"), "/login/%00"] {
        assert_eq!(setup.open(forged, &mut browser).await.status, 404, "{forged}");
        let posted = setup.send(Method::POST, forged, &mut browser, "check=x&answer=anna").await;
        assert_eq!(posted.status, 403, "{forged}");
    }
    assert_eq!(setup.send(Method::DELETE, &link, &mut browser, "").await.status, 405);

    // Five wrong answers end a link.
    let link = setup.link("anna");
    for _ in 0..5 {
        setup.confirm(&link, &mut browser, "eve").await;
    }
    assert_eq!(setup.open(&link, &mut browser).await.status, 404);
    assert_eq!(setup.authority.requests_to("/authorize").len(), 0);
}

#[tokio::test]
async fn a_form_of_another_site_is_refused() {
    let setup = Setup::new();
    let (link, mut browser) = (setup.link("anna"), Browser::default());
    let page = setup.open(&link, &mut browser).await;
    let body = format!("check={}&answer=anna", page.check());
    let mut other = Browser::default();
    setup.open(&setup.link("bob"), &mut other).await;
    let rows = [
        ("without a cookie", setup.send(Method::POST, &link, &mut Browser::default(), &body).await),
        ("of another browser", setup.send(Method::POST, &link, &mut other, &body).await),
        ("without a check", setup.send(Method::POST, &link, &mut browser, "answer=anna").await),
        ("for another link", {
            let link = setup.link("carol");
            setup.send(Method::POST, &link, &mut browser, &body).await
        }),
        ("from another site", {
            setup.send_with(Method::POST, &link, &mut browser, &body, Some("cross-site")).await
        }),
    ];
    for (what, seen) in rows {
        assert_eq!(seen.status, 403, "{what}: {seen:?}");
    }
    assert_eq!(setup.send(Method::POST, &link, &mut browser, &body).await.status, 200);
}

#[tokio::test]
async fn a_login_ends_in_the_browser_that_began_it() {
    let setup = Setup::new();
    let mut browser = Browser::default();
    let confirmed = setup.confirm(&setup.link("anna"), &mut browser, "anna").await;
    let back = setup.authorize(&confirmed);
    let mut other = Browser::default();
    setup.open(&setup.link("bob"), &mut other).await;
    let forged = back.replace("state=", "state=x");
    for (what, path, browser) in [
        ("without a cookie", &back, &mut Browser::default()),
        ("in another browser", &back, &mut other),
        ("with another state", &forged, &mut browser),
        ("without anything", &CALLBACK_PATH.to_owned(), &mut Browser::default()),
    ] {
        let seen = setup.open(path, browser).await;
        assert_eq!(seen.status, 400, "{what}: {seen:?}");
        assert!(seen.body.contains("does not belong to a login in progress"), "{what}: {seen:?}");
    }
    assert_eq!(setup.token("anna").await, None);
    assert_eq!(setup.open(&back, &mut browser).await.status, 200);
    assert!(setup.token("anna").await.is_some());
    // A response is used once.
    assert_eq!(setup.open(&back, &mut browser).await.status, 400);
    assert_eq!(setup.send(Method::POST, &back, &mut browser, "").await.status, 405);
}

#[tokio::test]
async fn errors_of_the_authorization_server_are_shown_as_text() {
    for (how, expected) in [
        (Misbehaviour::Denied, "refused the login: access_denied: The user said"),
        (Misbehaviour::WrongIssuer, "the answer in the browser names https://bank.example"),
        (Misbehaviour::NoIssuer, "does not name"),
        (Misbehaviour::TokenError, "gave no token: server_error: no token for [secret] today"),
    ] {
        let setup = Setup::with(AuthorizationServer::misbehaving(how), Arc::new(TypedUserName));
        let seen = setup.log_in("anna").await;
        assert_eq!(seen.status, 502, "{how:?}: {seen:?}");
        assert!(seen.body.contains(expected), "{how:?}: {seen:?}");
        assert_eq!(setup.token("anna").await, None, "{how:?}");
    }
    let hostile = Setup::new();
    let mut browser = Browser::default();
    let confirmed = hostile.confirm(&hostile.link("anna"), &mut browser, "anna").await;
    let back = hostile.authorize(&confirmed);
    let (path, query) = back.split_once('?').unwrap();
    let kept = query.split('&').filter(|pair| !pair.starts_with("code="));
    let query = kept.collect::<Vec<_>>().join("&");
    let back = format!("{path}?{query}&error=%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    let seen = hostile.open(&back, &mut browser).await;
    assert!(seen.body.contains("&lt;script&gt;alert(1)"), "{seen:?}");
    assert!(!seen.body.contains("<script"), "{seen:?}");

    for how in [Misbehaviour::NoS256, Misbehaviour::NoRegistration] {
        let setup = Setup::with(AuthorizationServer::misbehaving(how), Arc::new(TypedUserName));
        let mut browser = Browser::default();
        let seen = setup.confirm(&setup.link("anna"), &mut browser, "anna").await;
        assert_eq!(seen.status, 502, "{how:?}: {seen:?}");
    }
}

#[tokio::test]
async fn a_server_that_was_removed_or_changed_gets_no_token() {
    let setup = Setup::new();
    let mut browser = Browser::default();
    let begun = setup.confirm(&setup.link("anna"), &mut browser, "anna").await;
    let changed = setup.confirm(&setup.link("anna"), &mut browser, "anna").await;
    let [begun, changed] = [setup.authorize(&begun), setup.authorize(&changed)];
    let link = setup.link("anna");
    setup.logins.set_servers(&[setup.server(", headers: { X: y }")]);
    let seen = setup.open(&changed, &mut browser).await;
    assert_eq!(seen.status, 409, "{seen:?}");
    setup.logins.set_servers(&[]);
    for path in [&begun, &link] {
        let seen = setup.open(path, &mut browser).await;
        assert_eq!(seen.status, 404, "{seen:?}");
        assert!(seen.body.contains("server &#39;far&#39; is not configured any more"), "{seen:?}");
    }
    assert_eq!(setup.token("anna").await, None);
}

#[tokio::test]
async fn a_user_who_was_removed_logs_in_no_more() {
    let setup = Setup::new();
    let mut browser = Browser::default();
    let confirmed = setup.confirm(&setup.link("anna"), &mut browser, "anna").await;
    let back = setup.authorize(&confirmed);
    let [link, other] = [setup.link("anna"), setup.link("bob")];
    setup.logins.forget_user(&user("anna"));
    assert_eq!(setup.open(&back, &mut browser).await.status, 400);
    assert_eq!(setup.open(&link, &mut browser).await.status, 404);
    assert_eq!(setup.open(&other, &mut browser).await.status, 200);
    assert_eq!(setup.token("anna").await, None);
}

/// Accepts one personal token for each user.
struct PersonalTokens;

impl BrowserProof for PersonalTokens {
    fn kind(&self, _user: &UserName) -> ProofKind {
        ProofKind::PersonalToken
    }

    fn is_valid(&self, user: &UserName, answer: &str) -> bool {
        answer == format!("token-of-{user}")
    }
}

#[tokio::test]
async fn a_personal_token_can_be_asked_for() {
    let setup = Setup::with(AuthorizationServer::start(), Arc::new(PersonalTokens));
    let (link, mut browser) = (setup.link("anna"), Browser::default());
    let page = setup.open(&link, &mut browser).await;
    assert!(page.body.contains("<input type=\"password\" name=\"answer\""), "{page:?}");
    for wrong in ["anna", "token-of-bob"] {
        let seen = setup.confirm(&link, &mut browser, wrong).await;
        assert!(seen.body.contains("this is not a personal token of the user"), "{seen:?}");
        assert!(!seen.body.contains("token-of-bob"), "{seen:?}");
    }
    assert_eq!(setup.confirm(&link, &mut browser, "token-of-anna").await.status, 200);
}
