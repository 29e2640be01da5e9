//! The page of several gateways: a browser may reach any of them.

use serde_json::json;
use testkit::identity_provider::{IdentityProvider, TokenDraft};
use testkit::process::wait_until;

use super::{TestFleet, free_address};
use crate::page::PageBrowser;
use crate::support::http_gateway::HttpGateway;
use crate::support::{TIMEOUT, finish};
use crate::users::personal_token;

/// A browser that reaches this gateway with the next request.
fn reach(browser: &mut PageBrowser, gateway: &HttpGateway) {
    browser.address = gateway.address;
}

#[test]
fn a_session_works_at_every_gateway_and_outlives_them() {
    for store in ["file", "database"] {
        let public = free_address();
        let fleet = TestFleet::new(&json!({
            "store": store,
            "users": { "public_url": format!("http://{public}") },
        }));
        let (one, other) = (fleet.start_at(public, &[]), fleet.start());
        let tokens = ["anna", "ben"].map(|name| personal_token(&one, name, &[]));
        let mut anna = PageBrowser::new(one.address);
        let form = |token: &str| format!("token={token}&next=%2Fpage%2Fruns");
        assert_eq!(anna.post("/page/sign-in", &form(&tokens[0])).status, 303);
        reach(&mut anna, &other);
        assert_eq!(anna.get("/page/runs").status, 200);
        let mut ben = PageBrowser::new(other.address);
        assert_eq!(ben.post("/page/sign-in", &form(&tokens[1])).status, 303);
        // Signing out at one gateway counts at the other one; a form of one is valid at the other one.
        let (old, check) = (ben.clone(), ben.check());
        reach(&mut ben, &one);
        assert_eq!(ben.post("/page/sign-out", &format!("check={check}")).status, 303);
        for gateway in [&one, &other] {
            let mut old = old.clone();
            reach(&mut old, gateway);
            assert_eq!(old.get("/page/runs").status, 401);
        }
        drop(one);
        assert_eq!(anna.get("/page/runs").status, 200);
        let removed = finish(other.home.onecall_with_config(&["users", "remove", "anna"]));
        assert_eq!(removed.code, Some(0), "{}", removed.stderr);
        assert!(wait_until(TIMEOUT, || anna.get("/page/runs").status == 401));
    }
}

#[test]
fn a_login_may_begin_at_one_gateway_and_end_at_another() {
    let (provider, public) = (IdentityProvider::start(), free_address());
    let key = provider.add_key("k1", "ES256");
    let fleet = TestFleet::new(&json!({
        "users": {
            "public_url": format!("http://{public}"),
            "oidc": { "issuer": provider.issuer(), "client_id": "the-page" },
        },
    }));
    let (one, other) = (fleet.start_at(public, &[]), fleet.start());
    let draft = TokenDraft::new(&provider.issuer(), "the-page", "anna").header("typ", "JWT");
    provider.log_in_as(draft, key);
    let mut browser = PageBrowser::new(one.address);
    let away = browser.get("/page/sign-in/provider?next=%2Fpage%2Fruns").location;
    let target = away.strip_prefix(&provider.issuer()).expect("the provider");
    let at_provider = provider.issuer().strip_prefix("http://").and_then(|it| it.parse().ok());
    let back = PageBrowser::new(at_provider.expect("an address")).get(target).location;
    let back = back.strip_prefix(&format!("http://{public}")).expect("the public address");
    reach(&mut browser, &other);
    let seen = browser.get(back);
    assert_eq!((seen.status, seen.location.as_str()), (303, "/page/runs"), "{}", seen.text);
    for gateway in [&one, &other] {
        reach(&mut browser, gateway);
        assert_eq!(browser.get("/page/runs").status, 200);
    }
}
