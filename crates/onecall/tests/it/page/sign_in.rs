//! The page on `serve --http`: who may sign in, and what each person sees.

use serde_json::{Value, json};
use testkit::identity_provider::{IdentityProvider, SigningKey, TokenDraft};

use super::{PageBrowser, Seen, files_server};
use crate::support::free_port;
use crate::support::http_gateway::{HttpGateway, stateless, stateless_request};
use crate::users::{bearer, personal_token};

pub fn gateway(users: &Value, more: &Value) -> HttpGateway {
    let mut settings = json!({ "users": users, "records": "full" });
    for (key, value) in more.as_object().expect("an object") {
        settings[key] = value.clone();
    }
    HttpGateway::with_settings(&settings)
}

pub fn sign_in(gateway: &HttpGateway, token: &str) -> (PageBrowser, Seen) {
    let mut browser = PageBrowser::new(gateway.address);
    let seen = browser.post("/page/sign-in", &format!("token={token}&next=%2Fpage%2Fruns"));
    (browser, seen)
}

/// Runs a program of a user to its end.
pub fn run_as(gateway: &HttpGateway, token: &str, code: &str) {
    let message = stateless(1, code);
    let answer =
        stateless_request(&message).header("Authorization", &bearer(token)).send(gateway.address);
    assert_eq!(answer.status, 200);
    answer.text();
}

/// The runs that a page lists.
pub fn listed(browser: &mut PageBrowser) -> Vec<String> {
    let seen = browser.get("/page/runs");
    assert_eq!(seen.status, 200, "{}", seen.text);
    let links = seen.text.split("href=\"/page/runs/").skip(1);
    links.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[test]
fn users_see_their_own_runs_and_administrators_all() {
    let gateway = gateway(&json!({}), &json!({ "audit": "full" }));
    let [anna, ben, root] = [("anna", ""), ("ben", ""), ("root", "admin")].map(|(name, group)| {
        let groups: &[&str] = if group.is_empty() { &[] } else { &[group] };
        personal_token(&gateway, name, groups)
    });
    for (token, name) in [(&anna, "anna"), (&ben, "ben")] {
        let code = format!(
            "display(bytes.fromhex('89504e470d0a1a0a'))\nawait mcp__fixture__echo(value='{name}')"
        );
        run_as(&gateway, token, &code);
    }
    // Records are written after the answer, and the runs are listed before that.
    let (mut admin, seen) = sign_in(&gateway, &root);
    assert_eq!((seen.status, seen.location.as_str()), (303, "/page/runs"), "{}", seen.text);
    testkit::process::wait_until(crate::support::TIMEOUT, || {
        let runs = listed(&mut admin);
        let is_stored = |run: &String| {
            let trail = admin.get(&format!("/page/audit?run={run}")).text;
            let has_record = admin.get(&format!("/page/runs/{run}/run.json")).status == 200;
            has_record && trail.contains(&format!("href=\"/page/runs/{run}\""))
        };
        runs.len() == 2 && runs.iter().all(is_stored)
    });
    let (mut anna_browser, _) = sign_in(&gateway, &anna);
    let (mut ben_browser, _) = sign_in(&gateway, &ben);
    let (of_anna, of_ben) = (listed(&mut anna_browser), listed(&mut ben_browser));
    assert_eq!((of_anna.len(), of_ben.len(), listed(&mut admin).len()), (1, 1, 2));
    assert_ne!(of_anna, of_ben);
    // A changed id finds nothing, whatever comes after it.
    for rest in [
        "",
        "/calls/1",
        "/calls/1/pictures/0",
        "/calls/1/arguments.txt",
        "/calls/1/answer.txt",
        "/pictures/0",
        "/run.json",
        "/run.html",
        "/output.txt",
        "/program.txt",
        "/error.txt",
        "/compare",
    ] {
        let target = format!("/page/runs/{}{rest}", of_ben[0]);
        assert_eq!(anna_browser.get(&target).status, 404, "{target}");
    }
    let target = format!("/page/runs/{}/compare/{}", of_anna[0], of_ben[0]);
    assert_eq!(anna_browser.get(&target).status, 404);
    assert_eq!(admin.get(&format!("/page/runs/{}", of_ben[0])).status, 200);
    assert_eq!(admin.get(&format!("/page/runs/{}/pictures/0", of_ben[0])).status, 200);
    // A filter for another user selects one's own.
    let seen = anna_browser.get("/page/runs?user=ben");
    assert!(seen.text.contains(&of_anna[0]) && !seen.text.contains(&of_ben[0]), "{}", seen.text);
    // Rows of the audit trail are those of the reader, whatever the filter says.
    for (is_admin, of_run, sees) in
        [(true, &of_ben[0], true), (false, &of_anna[0], true), (false, &of_ben[0], false)]
    {
        let browser = if is_admin { &mut admin } else { &mut anna_browser };
        let seen = browser.get(&format!("/page/audit?run={of_run}&user=ben"));
        assert_eq!(seen.status, 200);
        let link = format!("href=\"/page/runs/{of_run}\"");
        assert_eq!(seen.text.contains(&link), sees, "{of_run}: {}", seen.text);
        let seen = browser.get(&format!("/page/audit?run={of_run}"));
        assert_eq!(seen.text.contains(&link), sees, "{of_run}: {}", seen.text);
    }
    assert_eq!(anna_browser.get("/page/users").status, 404);
    assert!(admin.get("/page/users").text.contains(">ben</td>"));
    assert!(anna_browser.get("/page/").text.contains("<dd>1</dd>"));

    // A user who was removed is out at once.
    let removed =
        crate::support::finish(gateway.home.onecall_with_config(&["users", "remove", "anna"]));
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    testkit::process::wait_until(crate::support::TIMEOUT, || {
        anna_browser.get("/page/runs").status == 401
    });
    assert_eq!(anna_browser.get("/page/runs").status, 401);
}

#[test]
fn a_question_of_another_user_is_not_there() {
    let home = crate::support::Home::new();
    let server = files_server(&home.text_path("received"));
    let more = json!({ "servers": [server], "approvals": { "ask": ["mcp__files__delete"], "wait_seconds": 0 } });
    let gateway = gateway(&json!({}), &more);
    let [anna, ben] = ["anna", "ben"].map(|name| personal_token(&gateway, name, &[]));
    run_as(&gateway, &anna, "print(await mcp__files__delete(path='a'))");
    let (mut own, _) = sign_in(&gateway, &anna);
    let (mut other, _) = sign_in(&gateway, &ben);
    let seen = own.get("/page/inbox");
    let item = seen.text.split("data-question=\"").nth(1).and_then(|it| it.split('"').next());
    let item = item.expect("a question").to_owned();
    assert!(!other.get("/page/inbox").text.contains(&item));
    let check = other.check();
    let target = format!("/page/inbox/{item}");
    assert_eq!(other.post(&target, &format!("check={check}&decision=once")).status, 404);
    let (run, _) = item.split_once('.').expect("a run");
    assert_eq!(other.get(&format!("/page/runs/{run}")).status, 404);
    assert_eq!(own.get(&format!("/page/runs/{run}")).status, 200);
    let check = own.check();
    assert_eq!(own.post(&target, &format!("check={check}&decision=once")).status, 303);
    testkit::process::wait_until(crate::support::TIMEOUT, || {
        std::fs::read_to_string(home.path("received")).is_ok_and(|it| it.contains("\"delete\""))
    });
}

#[test]
fn wrong_tokens_and_open_gateways_show_nothing() {
    let gateway = gateway(&json!({}), &json!({}));
    let token = personal_token(&gateway, "anna", &[]);
    for wrong in ["", "oc_wrong", &token[..token.len() - 1]] {
        let (mut browser, seen) = sign_in(&gateway, wrong);
        assert_eq!(seen.status, 403, "{}", seen.text);
        assert_eq!(browser.get("/page/runs").status, 401);
    }
    // The token of an agent is not enough without a session, and a session is no token of an agent.
    let (mut browser, seen) = sign_in(&gateway, &token);
    assert!(seen.header("set-cookie").ends_with("HttpOnly; SameSite=Lax; Max-Age=43200"));
    assert_eq!(browser.get("/mcp").status, 401);
    let open = HttpGateway::new();
    assert_eq!(PageBrowser::new(open.address).get("/page/").status, 404);
    // A session that has ended leads back to the whole address, and gives a form back.
    let (mut late, _) = sign_in(&gateway, &token);
    late.cookies.clear();
    let seen = late.get("/page/runs?tool=a&outcome=ok");
    assert_eq!(seen.status, 401);
    let next = "name=\"next\" value=\"/page/runs?tool=a&amp;outcome=ok\"";
    assert!(seen.text.contains(next), "{}", seen.text);
    let seen = late.post("/page/tools/mcp__fixture__echo", "check=x&arg.text=a+%3Cb%3E");
    assert_eq!(seen.status, 401, "{}", seen.text);
    assert!(seen.text.contains("name=\"arg.text\" value=\"a &lt;b&gt;\""), "{}", seen.text);
    assert!(seen.text.contains("your session has ended"), "{}", seen.text);
    let shared = HttpGateway::with(&["--token", "7b1c9f0e5d3a8642"]);
    let (mut browser, seen) = sign_in(&shared, "7b1c9f0e5d3a8642");
    assert_eq!(seen.status, 303, "{}", seen.text);
    assert_eq!(browser.get("/page/runs").status, 200);
    assert_eq!(sign_in(&shared, "7b1c9f0e5d3a8643").1.status, 403);
}

#[test]
fn the_cookie_of_a_token_is_secure_behind_tls() {
    let address = format!("127.0.0.1:{}", free_port());
    let origin = format!("https://{address}");
    let arguments = ["--token", "7b1c9f0e5d3a8642", "--allow-origin", &origin];
    let (shared, _) = HttpGateway::listen(&address, &arguments, |_| {});
    let body = "token=7b1c9f0e5d3a8642";
    for (scheme, is_secure) in [("http", false), ("https", true)] {
        let mut browser = PageBrowser::new(shared.address);
        let origin = format!("{scheme}://{}", shared.address);
        let seen = browser.post_from("/page/sign-in", body, Some(&origin));
        assert_eq!(seen.status, 303, "{}", seen.text);
        assert_eq!(seen.header("set-cookie").ends_with("; Secure"), is_secure, "{scheme}");
        assert_eq!(browser.get("/page/runs").status, 200);
    }
}

#[test]
fn very_many_users_are_listed_in_parts() {
    let gateway = gateway(&json!({}), &json!({}));
    let root = personal_token(&gateway, "root", &["admin"]);
    let store = rusqlite::Connection::open(gateway.home.path(super::stores::STORE));
    let store = store.expect("the store");
    let names = "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('users')
        WHERE name NOT IN ('name', 'folded')";
    let names: String = store.query_row(names, [], |row| row.get(0)).expect("columns");
    let copies = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
         INSERT INTO users (name, folded, {names})
         SELECT printf('person%04d@example.com', n), printf('person%04d@example.com', n), {names}
         FROM users, numbers WHERE users.name = 'root'"
    );
    store.execute(&copies, []).expect("copies");
    let (mut browser, _) = sign_in(&gateway, &root);
    let (mut address, mut listed) = ("/page/users".to_owned(), Vec::<String>::new());
    loop {
        let seen = browser.get(&address);
        assert!(seen.status == 200 && seen.text.len() < 100_000, "{}", seen.text.len());
        let rows = seen.text.split("<tr><td>").skip(1).filter_map(|row| row.split('<').next());
        listed.extend(rows.map(str::to_owned));
        let Some((before, _)) = seen.text.split_once("\">More users</a>") else { break };
        let (_, query) = before.rsplit_once("href=\"").expect("a link");
        address = format!("/page/users{}", query.replace("&amp;", "&"));
    }
    let count = listed.len();
    listed.sort();
    listed.dedup();
    assert_eq!((count, listed.len()), (2_001, 2_001));
    let seen = browser.get("/page/users?q=PERSON1234");
    assert!(seen.text.contains("person1234@") && !seen.text.contains("person1235@"));
}

/// A gateway whose users sign in at a provider.
struct ProviderLogin {
    gateway: HttpGateway,
    provider: IdentityProvider,
    key: SigningKey,
}

impl ProviderLogin {
    fn new() -> Self {
        let provider = IdentityProvider::start();
        let key = provider.add_key("k1", "ES256");
        let address = format!("127.0.0.1:{}", free_port());
        let users = json!({
            "public_url": format!("http://{address}"),
            "oidc": { "issuer": provider.issuer(), "client_id": "the-page", "client_secret": "s3cret-of-the-page" },
        });
        let (gateway, _) = HttpGateway::serve(&address, &[], &json!({ "users": users }), |_| {});
        Self { gateway, provider, key }
    }

    /// An ID token of this user, to be changed.
    fn draft(&self, user: &str) -> TokenDraft {
        TokenDraft::new(&self.provider.issuer(), "the-page", user).header("typ", "JWT")
    }

    /// Goes to the provider and comes back; returns the address that the browser comes back to.
    fn answer(&self, browser: &mut PageBrowser) -> String {
        self.answer_to(browser, "/page/sign-in/provider?next=%2Fpage%2Fruns")
    }

    /// Begins a login at this address, and returns the address that the browser comes back to.
    fn answer_to(&self, browser: &mut PageBrowser, login: &str) -> String {
        let seen = browser.get(login);
        assert_eq!(seen.status, 303, "{}", seen.text);
        assert!(seen.location.contains("code_challenge_method=S256"), "{}", seen.location);
        let issuer = self.provider.issuer();
        let target = seen.location.strip_prefix(&issuer).expect("the provider").to_owned();
        let provider =
            issuer.strip_prefix("http://").and_then(|it| it.parse().ok()).expect("its address");
        let back = PageBrowser::new(provider).get(&target).location;
        let (_, target) = back.split_once(&self.gateway.address.to_string()).expect("the gateway");
        target.to_owned()
    }
}

#[test]
fn people_sign_in_at_the_identity_provider() {
    let login = ProviderLogin::new();
    let key = login.provider.add_key("k2", "ES256");
    login.provider.log_in_as(login.draft("anna").claim("groups", json!(["admin"])), key);
    let mut browser = PageBrowser::new(login.gateway.address);
    assert!(browser.get("/page/").text.contains("Sign in at the identity provider"));
    let back = login.answer(&mut browser);
    let seen = browser.get(&back);
    assert_eq!((seen.status, seen.location.as_str()), (303, "/page/runs"), "{}", seen.text);
    let seen = browser.get("/page/users");
    assert!(seen.status == 200 && seen.text.contains(">anna</td>"), "{}", seen.text);
    // The answer is used once, and belongs to the browser that asked.
    assert_eq!(browser.get(&back).status, 400);
    let mut first = PageBrowser::new(login.gateway.address);
    let back = login.answer(&mut first);
    let mut other = PageBrowser::new(login.gateway.address);
    login.answer(&mut other);
    for browser in [&mut PageBrowser::new(login.gateway.address), &mut other] {
        let seen = browser.get(&back);
        assert_eq!(seen.status, 400, "{}", seen.text);
    }
    assert_eq!(first.get(&back).status, 303);
}

#[test]
fn a_forged_identity_is_refused() {
    let login = ProviderLogin::new();
    let stranger = SigningKey::new("k1", "ES256");
    let again = || login.provider.add_key("k3", "ES256");
    let rows = [
        ("another audience", login.draft("anna").claim("aud", "other"), again()),
        ("another issuer", login.draft("anna").claim("iss", "https://evil.example"), again()),
        ("an old one", login.draft("anna").claim("exp", 1_000), again()),
        ("another nonce", login.draft("anna").claim("nonce", "x"), again()),
        ("another key", login.draft("anna"), stranger),
        ("no name", login.draft("anna").claim("sub", Value::Null), again()),
    ];
    for (what, draft, key) in rows {
        login.provider.set_keys(vec![login.key.public(), key.public()]);
        if what == "another key" {
            login.provider.set_keys(vec![login.key.public()]);
        }
        login.provider.log_in_as(draft, key);
        let mut browser = PageBrowser::new(login.gateway.address);
        let back = login.answer(&mut browser);
        let seen = browser.get(&back);
        assert_eq!(seen.status, 403, "{what}: {}", seen.text);
        assert_eq!(browser.get("/page/").status, 401, "{what}");
    }
}

/// Makes all sessions look as if the provider had named their users this long ago.
fn age_sessions(gateway: &HttpGateway, minutes: i64) {
    let store = rusqlite::Connection::open(gateway.home.path(super::stores::STORE));
    let store = store.expect("the store");
    let aged = "UPDATE browser_sessions SET confirmed_ms = confirmed_ms - ?1";
    assert_eq!(store.execute(aged, [minutes * 60_000]).expect("a session"), 1);
}

#[test]
fn the_provider_confirms_users_and_groups_every_quarter_of_an_hour() {
    let login = ProviderLogin::new();
    let mut browser = PageBrowser::new(login.gateway.address);
    let draft = login.draft("anna").claim("groups", json!(["admin"]));
    login.provider.log_in_as(draft, login.provider.add_key("k2", "ES256"));
    let back = login.answer(&mut browser);
    assert_eq!(browser.get(&back).status, 303);
    assert_eq!(browser.get("/page/users").status, 200);
    age_sessions(&login.gateway, 14);
    assert_eq!(browser.get("/page/users").status, 200);

    // The page is shown after a round trip that asks nothing, with the groups of then.
    login.provider.log_in_as(login.draft("anna"), login.provider.add_key("k3", "ES256"));
    age_sessions(&login.gateway, 1);
    let check = "check=x&path=a+%3Cb%3E";
    let form = browser.post("/page/tools/mcp__fixture__echo?a=b", check);
    assert_eq!(form.status, 401, "{}", form.text);
    assert!(form.text.contains("name=\"path\" value=\"a &lt;b&gt;\""), "{}", form.text);
    assert!(form.text.contains("action=\"/page/tools/mcp__fixture__echo?a=b\""), "{}", form.text);
    let cookies = browser.cookies.clone();
    let seen = browser.get("/page/users?x=y");
    assert_eq!(seen.status, 303, "{}", seen.text);
    let silent = seen.location;
    let back = login.answer_to(&mut browser, &silent);
    let seen = browser.get(&back);
    assert_eq!((seen.status, seen.location.as_str()), (303, "/page/users?x=y"), "{}", seen.text);
    assert_eq!(browser.get("/page/users").status, 404);
    assert_eq!(browser.get("/page/runs").status, 200);
    // The session is the same one, so that forms of it stay valid.
    assert_eq!(browser.cookies, cookies);

    // Someone whom the provider does not know any more signs in again.
    login.provider.log_out();
    age_sessions(&login.gateway, 15);
    let back = login.answer_to(&mut browser, &silent);
    let seen = browser.get(&back);
    assert_eq!(seen.status, 401, "{}", seen.text);
    assert!(seen.text.contains("Sign in at the identity provider"), "{}", seen.text);
    // The script of an open page cannot be sent to the provider.
    let cookie = format!("{}={}", browser.cookies[0].0, browser.cookies[0].1);
    let request = crate::support::raw_http::Request::new("GET", "/page/runs");
    let request = request.header("Cookie", &cookie).header("Sec-Fetch-Mode", "cors");
    assert_eq!(request.send(login.gateway.address).status, 401);
}
