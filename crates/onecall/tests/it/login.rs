//! Logging in to remote servers: `onecall login` with the test as the browser, and
//! what becomes of the tokens after that.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::authorization::{AuthorizationServer, Misbehaviour};
use testkit::mcp::Session;
use testkit::process::wait_until;
use testkit::remote::HttpFixture;
use testkit::web;

use crate::support::login::{Login, NEEDED, World, log_in, vault};
use crate::support::{Gateway, Home, PATIENCE, finish};

/// Fails if a token or a code is in a text.
fn assert_no_secrets(authority: &AuthorizationServer, text: &str) {
    let secrets = authority.secrets();
    assert!(!secrets.is_empty());
    for secret in secrets {
        assert!(!text.contains(&secret), "{secret} is in {text}");
    }
}

#[test]
fn a_login_from_beginning_to_end() {
    for guard in ["outspoken", "silent", "own", "bare"] {
        for face in ["events", "legacy"] {
            let (path, flags) = match face {
                "legacy" => ("/sse", ["--guard", guard, "--face", face]),
                _ => ("/mcp", ["--guard", guard, "--face", face]),
            };
            let world = World::with(AuthorizationServer::start(), &flags, json!({}));
            let url = world.server.url(path);
            let config = json!({ "servers": [{ "name": "far", "url": url }] });
            world.home.write("config.json", config.to_string());
            assert!(world.check().ends_with(NEEDED), "{guard}: {}", world.check());
            let (page, ended) = world.log_in();
            assert_eq!(page.status, 200);
            assert!(page.body.contains("You can close this page."), "{page:?}");
            assert_eq!(ended.code, Some(0), "{guard} {face}: {ended:?}");
            let last = ended.stderr.lines().last().unwrap();
            assert!(last.starts_with("Logged in to far"), "{guard}: {last}");
            assert!(world.check().contains("35 ready"), "{guard} {face}: {}", world.check());
            assert_no_secrets(&world.authority, &ended.stderr);

            // Every request says which server the token is for.
            let asked = [world.authority.asked("/authorize"), world.authority.asked("/token")];
            for asked in asked.concat() {
                assert_eq!(asked.fields["resource"], url, "{asked:?}");
            }
            // The page would not be there for a second visit.
            assert_eq!(world.authority.asked("/authorize").len(), 1);
        }
    }
}

#[test]
fn scopes_are_those_that_the_server_asks_for() {
    let scopes = |flags: &[&str], entry: Value| {
        let world = World::with(AuthorizationServer::start(), flags, entry);
        let (_, ended) = world.log_in();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        world.authority.asked("/authorize")[0].fields.get("scope").cloned()
    };
    assert_eq!(scopes(&[], json!({})).as_deref(), Some("read"));
    assert_eq!(scopes(&["--guard", "silent"], json!({})).as_deref(), Some("read list"));
    assert_eq!(scopes(&["--guard", "own"], json!({})), None);
    let entry = json!({ "oauth": { "scopes": ["all", "more"] } });
    assert_eq!(scopes(&[], entry).as_deref(), Some("all more"));
}

#[test]
fn a_server_may_greet_those_without_a_login() {
    for face in ["events", "stateless"] {
        let flags = ["--guard", "late", "--face", face];
        let world = World::with(AuthorizationServer::start(), &flags, json!({}));
        assert!(world.check().ends_with(NEEDED), "{face}: {}", world.check());
        let (_, ended) = world.log_in();
        assert_eq!(ended.code, Some(0), "{face}: {ended:?}");
        assert_eq!(world.authority.asked("/authorize")[0].fields["scope"], "read", "{face}");
        assert!(world.check().contains("35 ready"), "{face}: {}", world.check());
    }
}

#[test]
fn a_server_without_a_login_says_what_to_do() {
    let (mut gateway, authority, _server) = World::new().gateway();
    let error = format!("'mcp__far__add' failed: server 'far' {NEEDED}");
    let code = "
        try:
            await mcp__far__add(1, b=2)
        except ToolError as error:
            print(error)
    ";
    assert_eq!(gateway.prints(code), format!("{error}\n"));
    gateway.wait_for_log(&["WARN", "server=far", NEEDED]);

    // A login elsewhere is noticed by itself.
    let (page, ended) = log_in(&gateway.home);
    assert!(page.body.contains("You are logged in"), "{page:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(wait_until(PATIENCE, || gateway.callable_tools().len() == 35));
    assert_eq!(gateway.prints("print(await mcp__far__add(1, 2))"), "3\n");
    // In vain, for the login, and with it: nobody was asked again and again.
    let received = std::fs::read_to_string(gateway.home.path("received")).unwrap();
    assert_eq!(received.matches("\"method\":\"initialize\"").count(), 3);
    assert_no_secrets(&authority, &gateway.session.client().stderr());
}

#[test]
fn tokens_renew_themselves() {
    let world = World::new();
    world.authority.give_tokens_for(1);
    assert_eq!(world.log_in().1.code, Some(0));
    let (mut gateway, authority, _server) = world.gateway();
    let call = "print(await mcp__far__add(1, 2))";
    // A token of a second is due for replacement at once.
    assert_eq!(gateway.prints(call), "3\n");
    assert!(authority.renewals() > 0);
    authority.give_tokens_for(3_600);
    assert!(wait_until(PATIENCE, || {
        let before = authority.renewals();
        assert_eq!(gateway.prints(call), "3\n");
        authority.renewals() == before
    }));

    // One that ends early is replaced when the server refuses it, once for all calls.
    authority.end_tokens();
    let before = authority.renewals();
    let many = "
        import asyncio
        print(sum(await asyncio.gather(*(mcp__far__add(n, 1) for n in range(20)))))
    ";
    assert_eq!(gateway.prints(many), "210\n");
    assert_eq!(authority.renewals(), before + 1);
    assert_no_secrets(&authority, &gateway.session.client().stderr());
}

#[test]
fn processes_share_a_login_without_spoiling_it() {
    let world = World::logged_in();
    let open = || Session::open(world.home.configured(&["serve"]));
    let mut sessions = [open(), open(), open()];
    let code = json!({ "code": "print(await mcp__far__add(1, 2))" });
    for round in 1..4 {
        world.authority.end_tokens();
        // All at once find that their token is worth nothing any more.
        let calls = sessions.each_mut().map(|it| it.start_call("execute_program", code.clone()));
        for (session, call) in sessions.iter_mut().zip(calls) {
            assert_eq!(session.finish_call(call).text, "[Script executed successfully]\n3\n");
        }
        assert_eq!(world.authority.renewals(), round);
    }
}

#[test]
fn a_login_that_has_ended_is_needed_again() {
    let world = World::logged_in();
    let (mut gateway, authority, _server) = world.gateway();
    let call = "
        try:
            print(await mcp__far__add(1, 2))
        except ToolError as error:
            print(error)
    ";
    assert_eq!(gateway.prints(call), "3\n");
    authority.end_logins();
    let needed = format!("'mcp__far__add' failed: server 'far' {NEEDED}\n");
    assert_eq!(gateway.prints(call), needed);
    gateway.wait_for_log(&["WARN", "server=far", "not available", NEEDED]);
    assert_eq!(gateway.prints(call), needed);
    assert_eq!(authority.renewals(), 1);
    // Its tools stay known.
    assert_eq!(gateway.callable_tools().len(), 35);
    assert_no_secrets(&authority, &gateway.session.client().stderr());
}

#[test]
fn an_authorization_server_that_is_down_ends_no_login() {
    let world = World::logged_in();
    world.authority.misbehave(Some(Misbehaviour::RefreshFails));
    let (mut gateway, authority, _server) = world.gateway();
    let call = "
        try:
            print(await mcp__far__add(1, 2))
        except ToolError as error:
            print(error)
    ";
    assert_eq!(gateway.prints(call), "3\n");
    authority.end_tokens();
    assert_eq!(
        gateway.prints(call),
        "'mcp__far__add' failed: the request was not sent, because the token for it could not be \
         replaced: it answered 503 Service Unavailable\n"
    );
    authority.misbehave(None);
    assert_eq!(gateway.prints(call), "3\n");
}

#[test]
fn more_rights_come_with_another_login() {
    let world = World::logged_in();
    let (mut gateway, authority, server) = world.gateway();
    let code = "
        try:
            print(await mcp__far__counter())
        except ToolError as error:
            print(error)
    ";
    assert_eq!(
        gateway.prints(code),
        "'mcp__far__counter' failed: the login does not allow this (missing scope: count); \
         run `onecall login far` to log in again with it\n"
    );
    let world = World { authority, server, home: gateway.home };
    assert_eq!(world.log_in().1.code, Some(0));
    let asked = world.authority.asked("/authorize");
    assert_eq!(asked[1].fields["scope"], "read count");
    gateway = Gateway { session: gateway.session, home: world.home };
    assert_eq!(gateway.prints(code), "1\n");
}

#[test]
fn the_vault_is_for_its_owner_alone() {
    let world = World::logged_in();
    let [file] = &world.vault()[..] else { panic!("{:?}", world.vault()) };
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));

    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ended = finish(world.home.configured(&["check"]));
    assert!(ended.stdout.contains("35  ready"), "{ended:?}");
    assert!(ended.stderr.contains("could be read by others"), "{ended:?}");
    assert_eq!(mode(file), 0o600);
    assert_no_secrets(&world.authority, &(ended.stdout + &ended.stderr));

    std::fs::write(file, "{}").unwrap();
    let check = world.check();
    assert!(check.contains("it is damaged; delete it and log in again"), "{check}");
}

#[test]
fn a_token_goes_to_its_server_and_nowhere_else() {
    let world = World::logged_in();
    let home = Home::new();
    let log = home.text_path("log");
    // The same entry with another address.
    let other = HttpFixture::start(&["--log", &log]);
    let config = std::fs::read_to_string(world.home.path("config.json")).unwrap();
    let moved = config.replace(&world.server.url("/mcp"), &other.url("/mcp"));
    world.home.write("config.json", &moved);
    assert!(world.check().contains("35 ready"));

    // A redirection to another origin.
    let target = other.url("/mcp");
    let redirect = format!("redirect={target}");
    let flags = ["--misbehave", &redirect, "--misbehave-always"];
    let address = world.server.address().to_owned();
    drop(world.server);
    let _redirecting = HttpFixture::start_at(&address, &flags);
    world.home.write("config.json", config);
    let ended = finish(world.home.configured(&["check", "--log", "off"]));
    assert!(ended.stdout.contains("the server redirects to"), "{ended:?}");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("\"initialize\"") && !log.contains("authorization"), "{log}");
    assert_no_secrets(&world.authority, &log);
}

#[test]
fn a_plan_cannot_borrow_a_login() {
    let world = World::logged_in();
    let config = std::fs::read_to_string(world.home.path("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    let hosts = [world.server.address()];
    config["proxy"] = json!({ "dynamic_servers": true, "allowed_hosts": hosts });
    config["servers"] = json!([]);
    world.home.write("config.json", config.to_string());
    let plan = json!({
        "target_tool": "mcp__sly__add",
        "tool_args": { "a": 1, "b": 2 },
        "server_config": { "sly": { "url": world.server.url("/mcp") } },
    });
    let plan = world.home.write("plan.json", plan.to_string());
    let ended = finish(world.home.configured(&["proxy", &plan.display().to_string()]));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("401 Unauthorized"), "{ended:?}");
    let received = std::fs::read_to_string(world.home.path("received")).unwrap();
    assert!(!received.contains("authorization"), "{received}");
}

#[test]
fn a_configured_header_leaves_no_room_for_a_login() {
    let entry = json!({ "headers": { "Authorization": "Bearer of-the-configuration" } });
    let world = World::with(AuthorizationServer::start(), &[], entry);
    let check = world.check();
    assert!(
        check.ends_with(
            "the server answered 401 Unauthorized; check the token in 'headers': \
             no entry with [secret]"
        ),
        "{check}"
    );
    let ended = finish(world.home.configured(&["login", "far"]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("(an Authorization header, or a user in 'url')"), "{ended:?}");
    assert_eq!(world.authority.asked("/authorize").len(), 0);
}

#[test]
fn what_is_suspicious_ends_a_login() {
    let cases = [
        (
            Misbehaviour::WrongIssuer,
            "error: the answer in the browser names https://bank.example, not [issuer]; the answer \
             may be forged",
        ),
        (
            Misbehaviour::NoIssuer,
            "error: the answer in the browser does not name [issuer], which promises to name itself; \
             the answer may be forged",
        ),
        (Misbehaviour::Denied, "error: the login was refused: access_denied: The user said no"),
        (
            Misbehaviour::NoS256,
            "error: [issuer] does not support PKCE with S256, without which a login is not safe",
        ),
        (
            Misbehaviour::ForeignMetadata,
            "error: [issuer] describes itself as https://bank.example, so a login could go to the \
             wrong one; if https://bank.example is where you log in, set 'issuer' under 'oauth' in \
             the server's entry to it",
        ),
        (
            Misbehaviour::InsecureEndpoint,
            "error: http://token.example is not https, so no token may go there; only https is \
             accepted, or http on this machine for a server on this machine",
        ),
        (
            Misbehaviour::NoMetadata,
            "error: [issuer] does not publish how to log in: \
             /.well-known/openid-configuration answers 404 Not Found",
        ),
        (
            Misbehaviour::NoRegistration,
            "error: [issuer] does not register clients by itself; register onecall there and give \
             its 'client_id' under 'oauth' in the server's entry",
        ),
        (
            Misbehaviour::TokenError,
            "error: [issuer] gave no token: server_error: no token for [secret] today",
        ),
    ];
    for (how, expected) in cases {
        assert_eq!(World::misbehaving(how).refusal(), expected, "{how:?}");
    }
}

#[test]
fn a_client_of_the_configuration_needs_no_registration() {
    let authority = AuthorizationServer::misbehaving(Misbehaviour::NoRegistration);
    let entry = json!({ "oauth": {
        "issuer": authority.issuer(), "client_id": "my client", "client_secret": "${SECRET}",
    } });
    let world = World::with(authority, &[], entry);
    let mut login = Login::start(&world.home, &[("SECRET", "kept: to ourselves")]);
    assert_eq!(web::visit(&login.address().unwrap()).status, 200);
    let ended = login.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("kept"), "{ended:?}");
    let kept = std::fs::read_to_string(&world.vault()[0]).unwrap();
    assert!(kept.contains("my client") && !kept.contains("kept"), "{kept}");
    let [asked] = &world.authority.asked("/token")[..] else { panic!() };
    let header = "Basic bXkrY2xpZW50OmtlcHQlM0ErdG8rb3Vyc2VsdmVz";
    assert_eq!(asked.authorization.as_deref(), Some(header));
    assert!(!asked.body.contains("kept"), "{asked:?}");
}

#[test]
fn nobody_waits_forever() {
    let world = World::new();
    let ended = finish(world.home.configured(&["login", "far", "--no-browser", "--timeout", "1"]));
    assert_eq!(ended.code, Some(1));
    let last = ended.stderr.lines().last().unwrap();
    assert_eq!(last, "error: no login within 1s; try again, or give more time with --timeout");
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let world = World::new();
    let mut login = Login::start(&world.home, &[]);
    let address = login.address().unwrap();
    let interrupt = format!("kill -INT {}", login.child.id());
    assert!(std::process::Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let ended = login.ended();
    assert_eq!(ended.code, Some(130));
    assert!(ended.stderr.ends_with("Interrupted; nothing was changed\n"), "{ended:?}");
    assert_eq!(world.vault(), Vec::<PathBuf>::new());
    // Nobody listens any more.
    let (_, redirect) = address.split_once("redirect_uri=http%3A%2F%2F").unwrap();
    let callback = redirect.split("%2F").next().unwrap().replace("%3A", ":");
    assert!(std::net::TcpStream::connect(callback).is_err());
}

#[test]
fn the_browser_is_opened() {
    let world = World::new();
    let browser = world.home.write("browser", "#!/bin/sh\nprintf '%s' \"$1\" > \"$0.visited\"\n");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut login = Login::start(&world.home, &[("BROWSER", &browser.display().to_string())]);
    let address = login.address().unwrap();
    let visited = || std::fs::read_to_string(world.home.path("browser.visited"));
    assert!(wait_until(PATIENCE, || visited().is_ok_and(|visited| visited == address)));
    assert_eq!(web::visit(&address).status, 200);
    assert_eq!(login.ended().code, Some(0));
}

#[test]
fn a_logout_ends_the_login_everywhere() {
    let world = World::logged_in();
    assert_eq!(world.authority.valid_tokens(), (1, 1));
    let home = world.home.path("config.json");
    let logout = |home: &Home| finish(home.configured(&["logout", "far"]));
    let (mut gateway, authority, _server) = world.gateway();
    assert_eq!(gateway.prints("print(await mcp__far__add(1, 2))"), "3\n");
    let ended = logout(&gateway.home);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), "Logged out of far\n"));
    assert_eq!(authority.valid_tokens(), (0, 0));
    assert_eq!(vault(&gateway.home), Vec::<PathBuf>::new());
    let failure = gateway.fails("await mcp__far__add(1, 2)");
    assert!(failure.contains(&format!("server 'far' {NEEDED}")), "{failure}");
    let ended = logout(&gateway.home);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), "You were not logged in to far\n"));
    assert!(home.exists());
}

#[test]
fn there_is_not_always_something_to_log_in_to() {
    let open = HttpFixture::start(&[]);
    let servers = json!([
        { "name": "open", "url": open.url("/mcp") },
        { "name": "local-one", "command": "true" },
        { "name": "clear", "url": "http://mcp.example/mcp" },
    ]);
    let home = Home::with_config(&json!({ "servers": servers }));
    let said = |name: &str| {
        let ended = finish(home.configured(&["login", name, "--no-browser"]));
        (ended.code, ended.stderr)
    };
    let usage = |words: &str| (Some(2), format!("error: {words}\n"));
    assert_eq!(
        said("open"),
        usage(
            "there is nothing to log in to: server 'open' does not ask for a login; \
             see `onecall check`"
        )
    );
    assert_eq!(
        said("local-one"),
        usage(
            "there is nothing to log in to: server 'local-one' is a program on this machine; only \
             servers with a 'url' have logins"
        )
    );
    assert_eq!(
        said("opne"),
        usage("there is no server 'opne'; configured servers: open, local-one, clear")
    );
    let (code, words) = said("clear");
    assert_eq!(code, Some(1));
    assert!(words.starts_with("error: http://mcp.example is not https"), "{words}");
}
