//! Many users at once: no answer, definition, session, cached answer, credential or record of one user
//! reaches another. There are three kinds of servers: one that all users share, one with a secret of each
//! user, and one to which each user logs in. `cargo xtask users` runs it with more users and programs.

use std::thread;

use serde_json::{Value, json};
use testkit::authorization::AuthorizationServer;
use testkit::process::wait_until;
use testkit::remote::HttpFixture;

use super::{bearer, logins, personal_token, set_secret};
use crate::support::browser::Browser;
use crate::support::http_gateway::{Client, HttpGateway, call, stateless, stateless_request, text};
use crate::support::raw_http::Request;
use crate::support::{TIMEOUT, finish, fixture, free_port};

/// How many users there are, and how many programs each of them runs.
fn extent() -> (usize, u64) {
    let number = |variable: &str, otherwise: u64| {
        let given = std::env::var(variable).ok();
        given.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let users = number("ONECALL_USERS", 8);
    (usize::try_from(users).expect("a number"), number("ONECALL_USERS_PROGRAMS", 4))
}

/// A gateway with a server of each kind.
struct Team {
    gateway: HttpGateway,
    authority: AuthorizationServer,
    _remote: HttpFixture,
}

impl Team {
    /// Starts a gateway with room for the servers of this many users.
    fn new(users: usize) -> Self {
        let authority = AuthorizationServer::with_login_page();
        let remote = HttpFixture::start(&["--guarded-by", &authority.issuer()]);
        let mut own = fixture("own", &["--described-by", "OWNER"]);
        own["env"] = json!({ "WHO": "${user:WHO}", "OWNER": "${user:OWNER}" });
        let far = json!({ "name": "far", "url": remote.url("/mcp"), "credentials": "user" });
        let address = format!("127.0.0.1:{}", free_port());
        let settings = json!({
            "users": { "public_url": format!("http://{address}"), "max_user_processes": users * 2 },
            "cache": { "include": ["mcp__own__env", "mcp__fixture__echo", "mcp__far__account"] },
            "servers": [fixture("fixture", &[]), own, far],
            "sessions": { "max": 200 },
            // Room for a session and a program of each user: an idle session ends for want of memory.
            "execution": { "memory_mb": 128, "max_total_memory_mb": 128 * 2 * users + 1024 },
        });
        let (gateway, _) = HttpGateway::serve(&address, &[], &settings, |_| {});
        Self { gateway, authority, _remote: remote }
    }

    fn users(&self, count: usize) -> Vec<User> {
        (0..count).map(|number| User::new(&self.gateway, number)).collect()
    }
}

/// A user with a personal token, who has secrets and an account of their own.
struct User {
    name: String,
    token: String,
    secret: String,
}

impl User {
    fn new(gateway: &HttpGateway, number: usize) -> Self {
        let (name, secret) =
            (format!("user-{number}"), format!("secret-of-{number}-{}", number * 7));
        let token = personal_token(gateway, &name, &[]);
        set_secret(gateway, &name, "WHO", &secret);
        set_secret(gateway, &name, "OWNER", &format!("owner {name}"));
        Self { name, token, secret }
    }

    fn client(&self, gateway: &HttpGateway) -> Client {
        Client::open(gateway.address, &[&bearer(&self.token)])
    }

    /// The account of this user at the authorization server.
    fn account(&self) -> String {
        format!("account of {}", self.name)
    }

    /// Logs in to the remote server with the link in the error of a call.
    fn log_in(&self, client: &Client) {
        let refused = client.run(9000, "await mcp__far__account()");
        let link = logins::login_link(&refused, "far", &self.name);
        let mut browser = Browser::default();
        let mut page = None;
        // Only some logins are served at a time, and the page asks to open the link again.
        let is_served = wait_until(TIMEOUT, || {
            let seen = browser.use_login_link(&link, &self.token, &self.account());
            let is_busy = seen.status == 503;
            page = Some(seen);
            !is_busy
        });
        let page = page.expect("a page");
        assert!(is_served && page.body.contains("<h1>Logged in</h1>"), "{page:?}");
    }
}

fn success(output: &str) -> String {
    format!("[Script executed successfully]\n{output}\n")
}

#[test]
fn nothing_of_a_user_reaches_another() {
    let (count, programs) = extent();
    let team = Team::new(count);
    let (gateway, users) = (&team.gateway, team.users(count));
    thread::scope(|scope| {
        for user in &users {
            scope.spawn(|| run_programs(gateway, user, programs));
        }
    });
    // Each program is recorded for the user who ran it, and for no other.
    for user in &users {
        let expected = usize::try_from(programs).expect("a number") + PROGRAMS_BESIDE;
        let mut runs = Vec::new();
        // Records are written after the answer.
        wait_until(TIMEOUT, || {
            let listed = ["runs", "--user", &user.name, "--limit", "1000", "--json"];
            let listed = finish(gateway.home.onecall_with_config(&listed));
            runs = serde_json::from_str::<Vec<Value>>(&listed.stdout).expect("a list");
            runs.len() >= expected
        });
        assert!(runs.iter().all(|run| run["user"] == *user.name), "{runs:?}");
        assert_eq!(runs.len(), expected, "{}", user.name);
    }
    // The secrets and the tokens of the logins are in no file of onecall.
    let secrets: Vec<_> = users.iter().map(|user| user.secret.clone()).collect();
    let secrets = [secrets, team.authority.secrets()].concat();
    let state = gateway.home.path("home/state/onecall");
    for file in std::fs::read_dir(state).expect("the state directory").flatten() {
        let content = std::fs::read(file.path()).unwrap_or_default();
        let is_in =
            |secret: &&String| content.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert_eq!(secrets.iter().find(is_in), None, "{:?} has a secret", file.path());
    }
}

/// How many programs each user runs beside those with a number: one that is told to log in, and two in a
/// session.
const PROGRAMS_BESIDE: usize = 3;

fn run_programs(gateway: &HttpGateway, user: &User, programs: u64) {
    let client = user.client(gateway);
    user.log_in(&client);
    for number in 0..programs {
        let mark = format!("{} {number}", user.name);
        // The second calls are answered from the cache.
        let code = format!(
            "import asyncio\n\
             own, again, shared, account = await asyncio.gather(\n\
                 mcp__own__env(name='WHO'), mcp__own__env(name='WHO'),\n\
                 mcp__fixture__echo(value='{mark}'), mcp__far__account())\n\
             print(own, await mcp__own__env(name='WHO') == own == again, shared)\n\
             print(account, await mcp__far__account() == account)"
        );
        let lines = format!("{} True {mark}\n{} True", user.secret, user.account());
        assert_eq!(client.run(number + 1, &code), success(&lines));
        check_definitions(&client, user, 2000 + 2 * number);
    }
    // The same name of a session means another session for each user.
    let in_session = |id, code: &str| {
        let mut message = call(id, code, &json!({}));
        message["params"]["arguments"]["session"] = json!("work");
        text(&client.post(&message).message())
    };
    let keep = format!("mine = '{}'; print('kept')", user.name);
    assert_eq!(in_session(1001, &keep), success("kept"));
    assert_eq!(in_session(1002, "print(mine)"), success(&user.name));
}

/// The definitions of the servers of a user are those that the servers have for this user.
fn check_definitions(client: &Client, user: &User, id: u64) {
    for (id, tool, owner) in [
        (id, "mcp__own__env", format!("Reads a variable of owner {}.", user.name)),
        (id + 1, "mcp__far__account", format!("Names the account, which is {}.", user.account())),
    ] {
        let params = json!({ "name": "inspect_tool", "arguments": { "tool_name": tool } });
        let message =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let definition = text(&client.post(&message).message());
        assert!(definition.contains(&owner), "{} sees {definition}", user.name);
    }
}

#[test]
fn a_handle_of_a_session_works_for_its_user_only() {
    let team = Team::new(2);
    let (gateway, users) = (&team.gateway, team.users(2));
    let run = |user: &User, session: &str, code: &str| {
        let mut message: Value = serde_json::from_str(&stateless(1, code)).expect("JSON");
        message["params"]["arguments"]["session"] = json!(session);
        let message = message.to_string();
        let request: Request<'_> = stateless_request(&message);
        request.header("Authorization", &bearer(&user.token)).send(gateway.address).message()
    };
    let begun = run(&users[0], "work", "secret = 'of user 0'; print('begun')");
    assert_eq!(text(&begun), success("begun"));
    let handle = begun["result"]["content"][1]["text"].as_str().expect("a handle");
    let handle = handle.strip_prefix("session: ").expect("a handle");
    let stolen = text(&run(&users[1], handle, "print(secret)"));
    assert!(stolen.contains("there is no session with the handle"), "{stolen}");
    assert_eq!(text(&run(&users[0], handle, "print(secret)")), success("of user 0"));
}

#[test]
fn a_server_starts_as_soon_as_its_user_has_the_secret() {
    let mut own = fixture("own", &[]);
    own["env"] = json!({ "WHO": "${user:WHO}" });
    let gateway = HttpGateway::with_settings(&json!({ "users": {}, "servers": [own] }));
    let token = bearer(&personal_token(&gateway, "anna", &[]));
    let client = Client::open(gateway.address, &[&token]);
    let code = "print(await mcp__own__env(name='WHO'))";
    let refused = client.run(1, code);
    let advice = "server 'own' needs the secret WHO of user 'anna'; an administrator of this onecall \
                  stores it with `onecall secrets set WHO --user anna`, then try again";
    assert!(refused.contains(advice), "{refused}");
    let set = |value: &str| set_secret(&gateway, "anna", "WHO", value);
    let answers = |id: u64, value: &str| {
        let mut id = id;
        wait_until(TIMEOUT, || {
            id += 1;
            client.run(id, code) == success(value)
        })
    };
    set("first value");
    assert!(answers(100, "first value"));
    // Another value replaces the process.
    set("second value");
    assert!(answers(1000, "second value"));
}
