//! A published server that the provider protects, with `credentials: user`: each user of the gateway
//! logs in to it, and their programs call it with their own token.

use serde_json::json;

use super::{Team, issuer, provider};
use crate::interop::listening_server::ListeningServer;
use crate::support::browser::Browser;
use crate::support::free_port;
use crate::support::http_gateway::Client;
use crate::support::installed::{bounded, installed, interop_file};
use crate::users::logins::login_link;

const PROGRAM: &str = "print(await mcp__guarded__whoami())";

#[test]
fn a_user_logs_in_to_a_server_of_the_same_provider() {
    let Some(python) = installed("ONECALL_INTEROP_FASTMCP") else { return };
    let (gateway_port, server_port) = (free_port(), free_port());
    let server_url = format!("http://127.0.0.1:{server_port}/mcp");
    let own = format!("http://127.0.0.1:{gateway_port}/mcp");
    let Some(provider) = provider(&[&own, &server_url]) else { return };
    let guarded = json!({ "name": "guarded", "url": server_url, "credentials": "user" });
    let mut command = bounded(python.join("bin/python"));
    command.arg("-B").arg(interop_file("authorization/guarded_server.py"));
    command.args([issuer(&provider), server_url]);
    let _server = ListeningServer::start_at(server_port, command);
    let team = Team::with(provider, gateway_port, &[guarded]);
    let [anna, ian] = ["anna", "ian"].map(|user| {
        let token = super::tokens::token(&team, user, &own);
        Client::open(team.gateway.address, &[&format!("Bearer {token}")])
    });

    let link = login_link(&anna.run(1, PROGRAM), "guarded", "anna");
    let page = Browser::default().use_login_link(&link, "anna", "anna");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    let answers = success("anna");
    assert_eq!(anna.run(2, PROGRAM), answers);

    // Her login is not his; he has one of his own, and she keeps hers.
    let link = login_link(&ian.run(1, PROGRAM), "guarded", "ian");
    assert_eq!(anna.run(3, PROGRAM), answers);
    let page = Browser::default().use_login_link(&link, "ian", "ian");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    assert_eq!(ian.run(2, PROGRAM), success("ian"));
    assert_eq!(anna.run(4, PROGRAM), answers);
}

fn success(output: &str) -> String {
    format!("[Script executed successfully]\n{output}\n")
}
