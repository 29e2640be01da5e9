//! Users who were removed stay out, with whatever token, until they are added again.

use std::thread;

use testkit::process::wait_until;

use super::{Team, bearer, gateway_with_tokens, log_in, personal_token, unauthorized, users};
use crate::support::TIMEOUT;
use crate::support::http_gateway::{Client, HttpGateway, stateless, stateless_request};

const REMOVED: &str = "Forbidden: this user was removed; ask the administrator of onecall\n";

#[test]
fn a_removed_user_stays_out_with_a_valid_token() {
    let (team, key) = Team::new(|provider| provider.add_key("k", "EdDSA"));
    let token = team.token("anna", &key);
    assert_eq!(team.status(&token), 200);
    users(&team.gateway, &["remove", "anna"]);
    assert!(wait_until(TIMEOUT, || team.status(&token) == 403));
    let refused = (403, REMOVED.to_owned());
    assert_eq!(team.refusal(&token), refused);
    assert_eq!(team.refusal(&team.token("anna", &key)), refused);
    assert_eq!(team.status(&team.token("ben", &key)), 200);
    users(&team.gateway, &["add", "anna"]);
    assert!(wait_until(TIMEOUT, || team.status(&token) == 200));
}

#[test]
fn tokens_of_a_removed_user_do_not_come_back() {
    let gateway = gateway_with_tokens();
    let token = personal_token(&gateway, "anna", &[]);
    assert_eq!(log_in(&gateway, &token).status, 200);
    users(&gateway, &["remove", "anna"]);
    let unknown = unauthorized("the token is not known, was revoked or has expired");
    assert!(wait_until(TIMEOUT, || log_in(&gateway, &token).status == 401));
    users(&gateway, &["add", "anna"]);
    assert_eq!(super::refusal(&gateway, &token), unknown);
}

#[test]
fn the_programs_of_a_removed_user_are_stopped() {
    let settings = serde_json::json!({ "users": {} });
    let (gateway, received) = HttpGateway::serve("127.0.0.1:0", &[], &settings, |_| {});
    let token = bearer(&personal_token(&gateway, "anna", &[]));
    let other = Client::open(gateway.address, &[&bearer(&personal_token(&gateway, "ben", &[]))]);
    // One program of a client with a session, and one of a client without.
    let client = Client::open(gateway.address, &[&token]);
    let mut listening = client.listen(None);
    let mut with_session = client.start(1, "await mcp__fixture__hang()", "t");
    let first = received.wait_for_call("hang");
    let message = stateless(2, "await mcp__fixture__sleep(ms=60000)");
    let request = stateless_request(&message).header("Authorization", &token);
    let address = gateway.address;
    let second = thread::scope(|scope| {
        let without_session = scope.spawn(move || {
            let answer = request.send(address);
            (answer.status, answer.text())
        });
        let second = received.wait_for_call("sleep");
        users(&gateway, &["remove", "anna"]);
        assert_eq!(without_session.join().unwrap(), (403, REMOVED.to_owned()));
        second
    });
    for stream in [&mut listening, &mut with_session] {
        while let Some(event) = stream.next_event() {
            assert!(event.data.get("result").is_none(), "{event:?}");
        }
    }
    received.wait_for_cancel(&first);
    received.wait_for_cancel(&second);
    assert_eq!(other.run(1, "print('here')"), "[Script executed successfully]\nhere\n");
}
