//! Who gets to the page of `onecall ui`: the person with the key, from this machine, with forms of the page.

use serde_json::json;

use super::{PageBrowser, PageProcess, recorded_home};
use crate::support::raw_http::Request;

#[test]
fn the_key_lets_one_browser_in() {
    let home = recorded_home(&json!({}));
    let page = PageProcess::start(&home);
    assert!(page.address.ip().is_loopback());
    let mut stranger = PageBrowser::new(page.address);
    for target in ["/page/", "/page/runs", "/page/events", "/page/enter", "/page/enter?key=x"] {
        let seen = stranger.get(target);
        assert_eq!(seen.status, 403, "{target}: {}", seen.text);
        assert!(seen.text.contains("onecall ui"), "{target}");
    }
    let mut browser = page.browser();
    let seen = browser.get("/page/");
    assert_eq!(seen.status, 200);
    assert!(seen.text.contains("Nothing ran in the last 24 hours"), "{}", seen.text);
    // The key was used.
    let (_, target) = page.entrance.split_once(&page.address.to_string()).unwrap();
    assert_eq!(stranger.get(target).status, 403);
    assert_eq!(browser.get(target).status, 303);
    // Only the page is here.
    for target in ["/mcp", "/metrics", "/other"] {
        assert_eq!(browser.get(target).status, 404, "{target}");
    }
    // Signing out ends the session.
    let old = browser.clone();
    let check = browser.check();
    assert_eq!(browser.post("/page/sign-out", &format!("check={check}")).status, 303);
    for mut browser in [browser, old] {
        assert_eq!(browser.get("/page/").status, 403);
    }
}

#[test]
fn the_cookie_and_the_headers_keep_others_out() {
    let home = recorded_home(&json!({}));
    let page = PageProcess::start(&home);
    let mut browser = PageBrowser::new(page.address);
    let (_, target) = page.entrance.split_once(&page.address.to_string()).unwrap();
    let seen = browser.get(target);
    let cookie = seen.header("set-cookie");
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
    assert!(pair.starts_with(&format!("onecall-page-{}=", page.address.port())), "{pair}");
    let seen = browser.get("/page/");
    let policy = seen.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let expected = [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ];
    for (name, value) in expected {
        assert_eq!(seen.header(name), value, "{name}");
    }
    // One request, and nothing from elsewhere.
    assert!(seen.text.len() < 100_000);
    for from_elsewhere in ["src=\"http", "href=\"http", "url(", "@import"] {
        assert!(!seen.text.contains(from_elsewhere), "{from_elsewhere}");
    }

    // Names that a foreign page could have made the browser connect to.
    let cookie = format!("{}={}", browser.cookies[0].0, browser.cookies[0].1);
    for host in ["evil.example", "evil.example:80", "localhost:1"] {
        let request = Request::new("GET", "/page/").header("Cookie", &cookie).header("Host", host);
        assert_eq!(request.send_unchanged(page.address).status, 403, "{host}");
    }
}

#[test]
fn only_forms_of_the_page_do_something() {
    let home = recorded_home(&json!({}));
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check = browser.check();
    let own = format!("http://{}", page.address);
    let good = format!("check={check}");
    let rows = [
        ("no field", "", Some(own.as_str())),
        ("another field", "check=0123", Some(own.as_str())),
        ("no origin", good.as_str(), None),
        ("another origin", good.as_str(), Some("https://evil.example")),
        ("another port", good.as_str(), Some("http://127.0.0.1:1")),
        ("no origin at all", good.as_str(), Some("null")),
    ];
    for (what, body, origin) in rows {
        let seen = browser.post_from("/page/sign-out", body, origin);
        assert_eq!(seen.status, 403, "{what}: {}", seen.text);
        assert_eq!(browser.get("/page/").status, 200, "{what}");
    }
    // A form of another session does not fit.
    let other = PageProcess::start(&home);
    let foreign = other.browser().check();
    assert_eq!(browser.post("/page/sign-out", &format!("check={foreign}")).status, 403);
    assert_eq!(browser.post("/page/sign-out", &good).status, 303);
}
