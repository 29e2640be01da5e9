//! Servers on the page: restarts, and logins of the reader.

use serde_json::json;
use testkit::authorization::AuthorizationServer;
use testkit::process::wait_until;
use testkit::remote::HttpFixture;
use testkit::web;

use super::{PageBrowser, PageProcess};
use crate::support::browser::Browser;
use crate::support::http_gateway::{Client, HttpGateway};
use crate::support::login::LoginSetup;
use crate::support::{Home, TIMEOUT, free_port};
use crate::users::{bearer, personal_token};

const TOKEN: &str = "7b1c9f0e5d3a8642";

/// Waits until the page of servers contains a text.
fn shows(browser: &mut PageBrowser, text: &str) -> bool {
    wait_until(TIMEOUT, || browser.get("/page/servers").text.contains(text))
}

#[test]
fn restarts_are_counted() {
    let gateway = HttpGateway::with(&["--token", TOKEN]);
    let mut browser = PageBrowser::new(gateway.address);
    assert_eq!(browser.post("/page/sign-in", &format!("token={TOKEN}")).status, 303);
    assert!(shows(&mut browser, ">ready<"));
    assert!(!browser.get("/page/servers").text.contains("<dt>Restarts</dt>"));
    let client = Client::open(gateway.address, &[&bearer(TOKEN)]);
    for count in 1..=2 {
        let answer = client.run(count, "await mcp__fixture__crash()");
        assert!(answer.starts_with("[Script execution failed]"), "{answer}");
        assert!(shows(&mut browser, &format!("<dt>Restarts</dt><dd>{count}</dd>")));
        assert!(shows(&mut browser, ">ready<"));
    }
}

#[test]
fn very_many_servers_are_listed_in_parts() {
    let servers: Vec<_> = (0..120)
        .map(|number| json!({ "name": format!("server{number:03}"), "command": "/nowhere/server" }))
        .collect();
    let home = Home::with_config(&json!({ "servers": servers }));
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let (mut address, mut listed) = ("/page/servers".to_owned(), Vec::<String>::new());
    loop {
        let seen = browser.get(&address);
        assert!(seen.status == 200 && seen.text.len() < 100_000, "{}", seen.text.len());
        let names = seen.text.split("id=\"server-server").skip(1);
        listed.extend(names.filter_map(|rest| Some(rest.split('"').next()?.to_owned())));
        let Some((before, _)) = seen.text.split_once("\">More servers</a>") else { break };
        let (_, query) = before.rsplit_once("href=\"").expect("a link");
        address = format!("/page/servers{}", query.replace("&amp;", "&"));
    }
    let all: Vec<String> = (0..120).map(|number| format!("{number:03}")).collect();
    assert_eq!(listed, all);
}

#[test]
fn users_log_in_to_their_servers_and_out() {
    let authority = AuthorizationServer::with_login_page();
    let remote = HttpFixture::start(&["--guarded-by", &authority.issuer()]);
    let public = format!("127.0.0.1:{}", free_port());
    let settings = json!({
        "users": { "public_url": format!("http://{public}") },
        "servers": [{ "name": "far", "url": remote.url("/mcp"), "credentials": "user" }],
    });
    let (gateway, _) = HttpGateway::serve(&public, &[], &settings, |_| {});
    let [anna, ben] = ["anna", "ben"].map(|name| personal_token(&gateway, name, &[]));
    let [mut own, mut other] = [&anna, &ben].map(|token| {
        let mut browser = PageBrowser::new(gateway.address);
        assert_eq!(browser.post("/page/sign-in", &format!("token={token}")).status, 303);
        browser
    });
    assert!(shows(&mut own, "action=\"/page/servers/far/login\""));
    let check = own.check();
    let seen = own.post("/page/servers/far/login", &format!("check={check}"));
    assert_eq!(seen.status, 303, "{}", seen.text);
    assert!(seen.location.starts_with("/login/"), "{}", seen.location);
    let link = format!("http://{public}{}", seen.location);
    let page = Browser::default().use_login_link(&link, &anna, "anna at work");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    assert!(shows(&mut own, "you are logged in"));
    assert!(!other.get("/page/servers").text.contains("you are logged in"));
    let account = "print(await mcp__far__account())";
    let client = Client::open(gateway.address, &[&bearer(&anna)]);
    assert!(client.run(1, account).contains("anna at work"));

    let seen = own.post("/page/servers/far/logout", &format!("check={check}"));
    assert!(matches!(seen.status, 200 | 303), "{}", seen.text);
    assert!(shows(&mut own, "action=\"/page/servers/far/login\""));
    assert!(wait_until(TIMEOUT, || !client.run(2, account).contains("anna at work")));
    for target in ["/page/servers/other/login", "/page/servers/other/logout"] {
        assert_eq!(own.post(target, &format!("check={check}")).status, 404, "{target}");
    }
}

#[test]
fn the_local_user_logs_in_with_the_same_browser() {
    let setup = LoginSetup::new();
    let page = PageProcess::start(&setup.home);
    let mut browser = page.browser();
    let check = format!("check={}", browser.check());
    assert_eq!(browser.post("/page/servers/far/start", &check).status, 303);
    assert!(shows(&mut browser, "log in below"));
    let seen = browser.post("/page/servers/far/login", &check);
    assert_eq!(seen.status, 200, "{}", seen.text);
    assert!(seen.text.contains(&setup.authority.issuer()), "{}", seen.text);
    let (_, rest) = seen.text.split_once("<a class=\"button primary\" href=\"").expect("a link");
    let address = rest.split('"').next().expect("its end").replace("&amp;", "&");
    let back = web::get_with_redirects(&address);
    assert!(back.body.contains("You can close this page."), "{back:?}");
    assert!(shows(&mut browser, "you are logged in"));
    assert!(shows(&mut browser, ">ready<"));
    assert_eq!(setup.vault().len(), 1);
    let seen = browser.post("/page/servers/far/logout", &check);
    assert!(matches!(seen.status, 200 | 303), "{}", seen.text);
    assert_eq!(setup.vault().len(), 0);
}
