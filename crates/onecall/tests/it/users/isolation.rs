//! Many users at once: no answer, session, cached answer, credential or record of one user reaches
//! another. `cargo xtask users` runs it with more users and programs.

use std::io::Write as _;
use std::process::Stdio;
use std::thread;

use serde_json::{Value, json};

use super::{bearer, personal_token};
use crate::support::http_gateway::{Client, HttpGateway, call, stateless, stateless_request, text};
use crate::support::raw_http::Request;
use crate::support::{finish, fixture};

/// How many users there are, and how many programs each of them runs.
fn extent() -> (usize, u64) {
    let number = |variable: &str, otherwise: u64| {
        let given = std::env::var(variable).ok();
        given.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let users = number("ONECALL_USERS", 8);
    (usize::try_from(users).expect("a number"), number("ONECALL_USERS_PROGRAMS", 4))
}

/// A user with a token, who has a secret of their own.
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
        let mut set = gateway.home.onecall_with_config(&["secrets", "set", "WHO", "--user", &name]);
        set.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut set = set.spawn().expect("onecall starts");
        set.stdin.take().expect("a pipe").write_all(secret.as_bytes()).expect("it reads");
        assert!(set.wait().expect("it ends").success());
        Self { name, token: bearer(&token), secret }
    }

    fn client(&self, gateway: &HttpGateway) -> Client {
        Client::open(gateway.address, &[&self.token])
    }
}

fn team(users: usize) -> (HttpGateway, Vec<User>) {
    let mut own = fixture("own", &[]);
    own["env"] = json!({ "WHO": "${user:WHO}" });
    let gateway = HttpGateway::with_settings(&json!({
        "users": { "max_user_processes": users },
        "cache": { "include": ["mcp__own__env", "mcp__fixture__echo"] },
        "servers": [fixture("fixture", &[]), own],
        "sessions": { "max": 200 },
    }));
    let users = (0..users).map(|number| User::new(&gateway, number)).collect();
    (gateway, users)
}

fn success(output: &str) -> String {
    format!("[Script executed successfully]\n{output}\n")
}

#[test]
fn nothing_of_a_user_reaches_another() {
    let (users, programs) = extent();
    let (gateway, users) = team(users);
    thread::scope(|scope| {
        for user in &users {
            scope.spawn(|| run_programs(&gateway, user, programs));
        }
    });
    // Each program is recorded for the user who ran it, and for no other.
    for user in &users {
        let listed = ["runs", "--user", &user.name, "--limit", "1000", "--json"];
        let listed = finish(gateway.home.onecall_with_config(&listed));
        let runs: Value = serde_json::from_str(&listed.stdout).expect("JSON");
        let runs = runs.as_array().expect("a list");
        assert!(runs.iter().all(|run| run["user"] == *user.name), "{runs:?}");
        let expected = usize::try_from(programs).expect("a number") + 2;
        assert_eq!(runs.len(), expected, "{}", user.name);
    }
    // The secrets are in no file of onecall.
    let state = gateway.home.path("home/state/onecall");
    for file in std::fs::read_dir(state).expect("the state directory").flatten() {
        let content = std::fs::read(file.path()).unwrap_or_default();
        let found = users.iter().find(|user| {
            content.windows(user.secret.len()).any(|part| part == user.secret.as_bytes())
        });
        assert!(found.is_none(), "{:?} has a secret", file.path());
    }
}

fn run_programs(gateway: &HttpGateway, user: &User, programs: u64) {
    let client = user.client(gateway);
    for number in 0..programs {
        let mark = format!("{} {number}", user.name);
        // The second call of `env` is answered from the cache.
        let code = format!(
            "import asyncio\n\
             own, again, shared = await asyncio.gather(\n\
                 mcp__own__env(name='WHO'), mcp__own__env(name='WHO'),\n\
                 mcp__fixture__echo(value='{mark}'))\n\
             print(own, await mcp__own__env(name='WHO') == own == again, shared)"
        );
        let expected = success(&format!("{} True {mark}", user.secret));
        assert_eq!(client.run(number + 1, &code), expected);
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

#[test]
fn a_handle_of_a_session_works_for_its_user_only() {
    let (gateway, users) = team(2);
    let run = |user: &User, session: &str, code: &str| {
        let mut message: Value = serde_json::from_str(&stateless(1, code)).expect("JSON");
        message["params"]["arguments"]["session"] = json!(session);
        let message = message.to_string();
        let request: Request<'_> = stateless_request(&message);
        request.header("Authorization", &user.token).send(gateway.address).message()
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
    let set = |value: &str| {
        let set = ["secrets", "set", "WHO", "--user", "anna"];
        let mut set = gateway.home.onecall_with_config(&set);
        set.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut set = set.spawn().expect("onecall starts");
        set.stdin.take().expect("a pipe").write_all(value.as_bytes()).expect("it reads");
        assert!(set.wait().expect("it ends").success());
    };
    let answers = |id: u64, value: &str| {
        let mut id = id;
        testkit::process::wait_until(crate::support::TIMEOUT, || {
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
