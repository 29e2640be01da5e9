//! Servers to which each user logs in (`credentials: user`): the error of a call has a link, the link leads
//! through the login page and the authorization server, and then the call works with the user's own account.

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::authorization::{AuthorizationServer, Misbehaviour};
use testkit::remote::HttpFixture;

use super::{bearer, personal_token, users};
use crate::support::browser::Browser;
use crate::support::http_gateway::{Client, HttpGateway};
use crate::support::{finish, free_port};

const PROGRAM: &str = "print(await mcp__far__account())";

/// A gateway with a remote server that knows accounts.
struct Setup {
    gateway: HttpGateway,
    authority: AuthorizationServer,
    _remote: HttpFixture,
}

impl Setup {
    fn new() -> Self {
        Self::with(&json!({}))
    }

    /// Starts a gateway that has these settings, too.
    fn with(more: &Value) -> Self {
        let authority = AuthorizationServer::with_login_page();
        let remote = HttpFixture::start(&["--guarded-by", &authority.issuer()]);
        let far = json!({ "name": "far", "url": remote.url("/mcp"), "credentials": "user" });
        let address = format!("127.0.0.1:{}", free_port());
        let users = json!({ "public_url": format!("http://{address}") });
        let mut settings = more.clone();
        settings["users"] = users;
        settings["servers"] = json!([far]);
        let (gateway, _) = HttpGateway::serve(&address, &[], &settings, |_| {});
        Self { gateway, authority, _remote: remote }
    }

    /// A new user: the personal token and a client.
    fn user(&self, name: &str) -> (String, Client) {
        self.member(name, &[])
    }

    /// A new user in these groups: the personal token and a client.
    fn member(&self, name: &str, groups: &[&str]) -> (String, Client) {
        let token = personal_token(&self.gateway, name, groups);
        let client = Client::open(self.gateway.address, &[&bearer(&token)]);
        (token, client)
    }
}

/// The link in the error of a call.
pub fn login_link(answer: &str, server: &str, user: &str) -> String {
    let advice = format!("server '{server}' needs a login of user '{user}'; open ");
    let (_, rest) = answer.split_once(&advice).unwrap_or_else(|| panic!("{answer}"));
    let (link, rest) = rest.split_once(' ').expect("a link");
    assert!(rest.starts_with("in a browser to log in, then try again"), "{answer}");
    link.to_owned()
}

fn success(output: &str) -> String {
    format!("[Script executed successfully]\n{output}\n")
}

#[test]
fn a_call_works_at_once_after_the_login_of_its_user() {
    let setup = Setup::new();
    let ((token, anna), (_, ben)) = (setup.user("anna"), setup.user("ben"));
    let link = login_link(&anna.run(1, PROGRAM), "far", "anna");
    let page = Browser::default().use_login_link(&link, &token, "anna at work");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    assert_eq!(anna.run(2, PROGRAM), success("anna at work"));

    // Nobody else is logged in, and the tools of her server are not his.
    login_link(&ben.run(1, PROGRAM), "far", "ben");
    assert_eq!(anna.run(3, PROGRAM), success("anna at work"));
}

#[test]
fn a_link_that_was_used_is_not_shown_again() {
    let setup = Setup::new();
    let (token, anna) = setup.user("anna");
    let link = login_link(&anna.run(1, PROGRAM), "far", "anna");
    assert_eq!(login_link(&anna.run(2, PROGRAM), "far", "anna"), link);

    setup.authority.misbehave(Some(Misbehaviour::Denied));
    let page = Browser::default().use_login_link(&link, &token, "anna");
    assert!(page.body.contains("<h1>Not logged in</h1>"), "{page:?}");
    setup.authority.misbehave(None);

    let other = login_link(&anna.run(3, PROGRAM), "far", "anna");
    assert_ne!(other, link);
    let page = Browser::default().use_login_link(&other, &token, "anna");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    assert_eq!(anna.run(4, PROGRAM), success("anna"));
}

#[test]
fn a_user_who_is_removed_or_logs_out_has_to_log_in_again() {
    let setup = Setup::new();
    let (token, anna) = setup.user("anna");
    let log_in = |client: &Client, token: &str| {
        let link = login_link(&client.run(1, PROGRAM), "far", "anna");
        Browser::default().use_login_link(&link, token, "anna");
        assert_eq!(client.run(2, PROGRAM), success("anna"));
    };
    log_in(&anna, &token);
    let logout = setup.gateway.home.onecall_with_config(&["logout", "far", "--user", "anna"]);
    assert_eq!(finish(logout).code, Some(0));
    // A running gateway notices it within a second.
    let refused = |client: &Client| {
        let mut refused = String::new();
        testkit::process::wait_until(crate::support::TIMEOUT, || {
            refused = client.run(3, PROGRAM);
            !refused.starts_with("[Script executed successfully]")
        });
        refused
    };
    login_link(&refused(&anna), "far", "anna");

    log_in(&anna, &token);
    users(&setup.gateway, &["remove", "anna"]);
    let (_, again) = setup.user("anna");
    login_link(&refused(&again), "far", "anna");
}

#[test]
fn a_policy_about_definitions_does_not_keep_its_users_from_logging_in() {
    let folder = TempDir::new().expect("a folder");
    let policy = "permit (principal in Group::\"intern\", action in Action::\"call\", resource)\n\
                  when { context.annotations.read_only };";
    std::fs::write(folder.path().join("team.cedar"), policy).expect("a file");
    let setup = Setup::with(&json!({ "policy": folder.path() }));
    let (token, carla) = setup.member("carla", &["intern"]);
    // The definition of the tool, which the policy decides by, is not known before the login.
    let link = login_link(&carla.run(1, PROGRAM), "far", "carla");
    let page = Browser::default().use_login_link(&link, &token, "carla");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    assert_eq!(carla.run(2, PROGRAM), success("carla"));

    // After the login the policy decides, as for every other tool.
    let (token, dora) = setup.member("dora", &["guest"]);
    let link = login_link(&dora.run(1, PROGRAM), "far", "dora");
    let page = Browser::default().use_login_link(&link, &token, "dora");
    assert!(page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    let refused = dora.run(2, PROGRAM);
    assert!(refused.contains("'mcp__far__account' is not available"), "{refused}");
}
