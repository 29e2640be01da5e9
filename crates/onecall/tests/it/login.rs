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

use crate::support::login::{LOGIN_NEEDED, Login, LoginSetup, log_in, vault};
use crate::support::{Gateway, Home, TIMEOUT, finish};

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
            let setup = LoginSetup::with(AuthorizationServer::start(), &flags, json!({}));
            let url = setup.server.url(path);
            let config = json!({ "servers": [{ "name": "far", "url": url }] });
            setup.home.write("config.json", config.to_string());
            assert!(setup.check().ends_with(LOGIN_NEEDED), "{guard}: {}", setup.check());
            let (page, ended) = setup.log_in();
            assert_eq!(page.status, 200);
            assert!(page.body.contains("You can close this page."), "{page:?}");
            assert_eq!(ended.code, Some(0), "{guard} {face}: {ended:?}");
            let last = ended.stderr.lines().last().unwrap();
            assert!(last.starts_with("Logged in to far"), "{guard}: {last}");
            assert!(setup.check().contains("35 ready"), "{guard} {face}: {}", setup.check());
            assert_no_secrets(&setup.authority, &ended.stderr);

            // Every request says which server the token is for.
            let asked =
                [setup.authority.requests_to("/authorize"), setup.authority.requests_to("/token")];
            for asked in asked.concat() {
                assert_eq!(asked.fields["resource"], url, "{asked:?}");
            }
            // The page would not be there for a second visit.
            assert_eq!(setup.authority.requests_to("/authorize").len(), 1);
        }
    }
}

#[test]
fn scopes_are_those_that_the_server_asks_for() {
    let scopes = |flags: &[&str], entry: Value| {
        let setup = LoginSetup::with(AuthorizationServer::start(), flags, entry);
        let (_, ended) = setup.log_in();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        setup.authority.requests_to("/authorize")[0].fields.get("scope").cloned()
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
        let setup = LoginSetup::with(AuthorizationServer::start(), &flags, json!({}));
        assert!(setup.check().ends_with(LOGIN_NEEDED), "{face}: {}", setup.check());
        let (_, ended) = setup.log_in();
        assert_eq!(ended.code, Some(0), "{face}: {ended:?}");
        assert_eq!(setup.authority.requests_to("/authorize")[0].fields["scope"], "read", "{face}");
        assert!(setup.check().contains("35 ready"), "{face}: {}", setup.check());
    }
}

#[test]
fn a_server_without_a_login_says_what_to_do() {
    let (mut gateway, authority, _server) = LoginSetup::new().gateway();
    let error = format!("'mcp__far__add' failed: server 'far' {LOGIN_NEEDED}");
    let code = "
        try:
            await mcp__far__add(1, b=2)
        except ToolError as error:
            print(error)
    ";
    assert_eq!(gateway.prints(code), format!("{error}\n"));
    gateway.wait_for_log(&["WARN", "server=far", LOGIN_NEEDED]);

    // A login elsewhere is noticed by itself.
    let (page, ended) = log_in(&gateway.home);
    assert!(page.body.contains("You are logged in"), "{page:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(wait_until(TIMEOUT, || gateway.callable_tools().len() == 35));
    assert_eq!(gateway.prints("print(await mcp__far__add(1, 2))"), "3\n");
    // Two handshakes: one by the login, and one with the token. What was refused before is the question
    // which revisions the server has.
    let received = std::fs::read_to_string(gateway.home.path("received")).unwrap();
    let count = |method: &str| received.matches(&format!("\"method\":\"{method}\"")).count();
    assert_eq!(count("initialize"), 2, "{received}");
    assert!(count("server/discover") > 0, "{received}");
    assert_no_secrets(&authority, &gateway.session.client().stderr());
}

#[test]
fn tokens_renew_themselves() {
    let setup = LoginSetup::new();
    setup.authority.set_token_lifetime(1);
    assert_eq!(setup.log_in().1.code, Some(0));
    let (mut gateway, authority, _server) = setup.gateway();
    let call = "print(await mcp__far__add(1, 2))";
    // A token of a second is due for replacement at once.
    assert_eq!(gateway.prints(call), "3\n");
    assert!(authority.refresh_count() > 0);
    authority.set_token_lifetime(3_600);
    assert!(wait_until(TIMEOUT, || {
        let before = authority.refresh_count();
        assert_eq!(gateway.prints(call), "3\n");
        authority.refresh_count() == before
    }));

    // One that ends early is replaced when the server refuses it, once for all calls.
    authority.revoke_access_tokens();
    let before = authority.refresh_count();
    let many = "
        import asyncio
        print(sum(await asyncio.gather(*(mcp__far__add(n, 1) for n in range(20)))))
    ";
    assert_eq!(gateway.prints(many), "210\n");
    assert_eq!(authority.refresh_count(), before + 1);
    assert_no_secrets(&authority, &gateway.session.client().stderr());
}

#[test]
fn processes_share_a_login_without_spoiling_it() {
    let setup = LoginSetup::logged_in();
    let open = || Session::open(setup.home.onecall_with_config(&["serve"]));
    let mut sessions = [open(), open(), open()];
    let code = json!({ "code": "print(await mcp__far__add(1, 2))" });
    for round in 1..4 {
        setup.authority.revoke_access_tokens();
        // All at once find that their token is worth nothing any more.
        let calls = sessions.each_mut().map(|it| it.start_call("execute_program", code.clone()));
        for (session, call) in sessions.iter_mut().zip(calls) {
            assert_eq!(session.finish_call(call).text, "[Script executed successfully]\n3\n");
        }
        assert_eq!(setup.authority.refresh_count(), round);
    }
}

#[test]
fn a_login_that_has_ended_is_needed_again() {
    let setup = LoginSetup::logged_in();
    let (mut gateway, authority, _server) = setup.gateway();
    let call = "
        try:
            print(await mcp__far__add(1, 2))
        except ToolError as error:
            print(error)
    ";
    assert_eq!(gateway.prints(call), "3\n");
    authority.revoke_all_tokens();
    let needed = format!("'mcp__far__add' failed: server 'far' {LOGIN_NEEDED}\n");
    assert_eq!(gateway.prints(call), needed);
    gateway.wait_for_log(&["WARN", "server=far", "not available", LOGIN_NEEDED]);
    assert_eq!(gateway.prints(call), needed);
    assert_eq!(authority.refresh_count(), 1);
    // Its tools stay known.
    assert_eq!(gateway.callable_tools().len(), 35);
    assert_no_secrets(&authority, &gateway.session.client().stderr());
}

#[test]
fn an_authorization_server_that_is_down_ends_no_login() {
    let setup = LoginSetup::logged_in();
    setup.authority.misbehave(Some(Misbehaviour::RefreshFails));
    let (mut gateway, authority, _server) = setup.gateway();
    let call = "
        try:
            print(await mcp__far__add(1, 2))
        except ToolError as error:
            print(error)
    ";
    assert_eq!(gateway.prints(call), "3\n");
    authority.revoke_access_tokens();
    assert_eq!(
        gateway.prints(call),
        "'mcp__far__add' failed: onecall did not send the request, because it could not replace the token for it: it answered 503 Service Unavailable\n"
    );
    authority.misbehave(None);
    assert_eq!(gateway.prints(call), "3\n");
}

#[test]
fn more_rights_come_with_another_login() {
    let setup = LoginSetup::logged_in();
    let (mut gateway, authority, server) = setup.gateway();
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
    let setup = LoginSetup { authority, server, home: gateway.home };
    assert_eq!(setup.log_in().1.code, Some(0));
    let asked = setup.authority.requests_to("/authorize");
    assert_eq!(asked[1].fields["scope"], "read count");
    gateway = Gateway { session: gateway.session, home: setup.home };
    assert_eq!(gateway.prints(code), "1\n");
}

#[test]
fn the_vault_is_for_its_owner_alone() {
    let setup = LoginSetup::logged_in();
    let [file] = &setup.vault()[..] else { panic!("{:?}", setup.vault()) };
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));

    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ended = finish(setup.home.onecall_with_config(&["check"]));
    assert!(ended.stdout.contains("35  ready"), "{ended:?}");
    assert!(ended.stderr.contains("other users could read"), "{ended:?}");
    assert_eq!(mode(file), 0o600);
    assert_no_secrets(&setup.authority, &(ended.stdout + &ended.stderr));

    std::fs::write(file, "{}").unwrap();
    let check = setup.check();
    assert!(check.contains("it is damaged; delete it and log in again"), "{check}");
}

#[test]
fn a_token_goes_to_its_server_and_nowhere_else() {
    let setup = LoginSetup::logged_in();
    let home = Home::new();
    let log = home.text_path("log");
    // An equal entry with another address.
    let other = HttpFixture::start(&["--log", &log]);
    let config = std::fs::read_to_string(setup.home.path("config.json")).unwrap();
    let moved = config.replace(&setup.server.url("/mcp"), &other.url("/mcp"));
    setup.home.write("config.json", &moved);
    assert!(setup.check().contains("35 ready"));

    // A redirection to another origin.
    let target = other.url("/mcp");
    let redirect = format!("redirect={target}");
    let flags = ["--misbehave", &redirect, "--misbehave-always"];
    let address = setup.server.address().to_owned();
    drop(setup.server);
    let _redirecting = HttpFixture::start_at(&address, &flags);
    setup.home.write("config.json", config);
    let ended = finish(setup.home.onecall_with_config(&["check", "--log", "off"]));
    assert!(ended.stdout.contains("the server redirects to"), "{ended:?}");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("\"initialize\"") && !log.contains("authorization"), "{log}");
    assert_no_secrets(&setup.authority, &log);
}

#[test]
fn a_plan_cannot_borrow_a_login() {
    let setup = LoginSetup::logged_in();
    let config = std::fs::read_to_string(setup.home.path("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    let hosts = [setup.server.address()];
    config["proxy"] = json!({ "dynamic_servers": true, "allowed_hosts": hosts });
    config["servers"] = json!([]);
    setup.home.write("config.json", config.to_string());
    let plan = json!({
        "target_tool": "mcp__sly__add",
        "tool_args": { "a": 1, "b": 2 },
        "server_config": { "sly": { "url": setup.server.url("/mcp") } },
    });
    let plan = setup.home.write("plan.json", plan.to_string());
    let ended = finish(setup.home.onecall_with_config(&["proxy", &plan.display().to_string()]));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("401 Unauthorized"), "{ended:?}");
    let received = std::fs::read_to_string(setup.home.path("received")).unwrap();
    assert!(!received.contains("authorization"), "{received}");
}

#[test]
fn a_configured_header_leaves_no_room_for_a_login() {
    let entry = json!({ "headers": { "Authorization": "Bearer of-the-configuration" } });
    let setup = LoginSetup::with(AuthorizationServer::start(), &[], entry);
    let check = setup.check();
    assert!(
        check.ends_with(
            "the server answered 401 Unauthorized; check the token in 'headers': \
             no entry with [secret]"
        ),
        "{check}"
    );
    let ended = finish(setup.home.onecall_with_config(&["login", "far"]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("(an Authorization header, or a user in 'url')"), "{ended:?}");
    assert_eq!(setup.authority.requests_to("/authorize").len(), 0);
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
        (
            Misbehaviour::Denied,
            "error: the authorization server refused the login: access_denied: The user said no",
        ),
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
        assert_eq!(LoginSetup::misbehaving(how).refusal(), expected, "{how:?}");
    }
}

#[test]
fn a_client_of_the_configuration_needs_no_registration() {
    let authority = AuthorizationServer::misbehaving(Misbehaviour::NoRegistration);
    let entry = json!({ "oauth": {
        "issuer": authority.issuer(), "client_id": "my client", "client_secret": "${SECRET}",
    } });
    let setup = LoginSetup::with(authority, &[], entry);
    let mut login = Login::start(&setup.home, &[("SECRET", "kept: to ourselves")]);
    assert_eq!(web::get_with_redirects(&login.address().unwrap()).status, 200);
    let ended = login.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("kept"), "{ended:?}");
    let kept = std::fs::read_to_string(&setup.vault()[0]).unwrap();
    assert!(kept.contains("my client") && !kept.contains("kept"), "{kept}");
    let [asked] = &setup.authority.requests_to("/token")[..] else { panic!() };
    let header = "Basic bXkrY2xpZW50OmtlcHQlM0ErdG8rb3Vyc2VsdmVz";
    assert_eq!(asked.authorization.as_deref(), Some(header));
    assert!(!asked.body.contains("kept"), "{asked:?}");
}

#[test]
fn nobody_waits_forever() {
    let setup = LoginSetup::new();
    let ended =
        finish(setup.home.onecall_with_config(&["login", "far", "--no-browser", "--timeout", "1"]));
    assert_eq!(ended.code, Some(1));
    let last = ended.stderr.lines().last().unwrap();
    assert_eq!(last, "error: no login within 1s; try again, or give more time with --timeout");
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let setup = LoginSetup::new();
    let mut login = Login::start(&setup.home, &[]);
    let address = login.address().unwrap();
    let interrupt = format!("kill -INT {}", login.child.id());
    assert!(std::process::Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let ended = login.ended();
    assert_eq!(ended.code, Some(130));
    assert!(ended.stderr.ends_with("Interrupted; nothing was changed\n"), "{ended:?}");
    assert_eq!(setup.vault(), Vec::<PathBuf>::new());
    // The port of the callback is closed.
    let (_, redirect) = address.split_once("redirect_uri=http%3A%2F%2F").unwrap();
    let callback = redirect.split("%2F").next().unwrap().replace("%3A", ":");
    assert!(std::net::TcpStream::connect(callback).is_err());
}

#[test]
fn the_browser_is_opened() {
    let setup = LoginSetup::new();
    let browser = setup.home.write("browser", "#!/bin/sh\nprintf '%s' \"$1\" > \"$0.visited\"\n");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut login = Login::start(&setup.home, &[("BROWSER", &browser.display().to_string())]);
    let address = login.address().unwrap();
    let visited = || std::fs::read_to_string(setup.home.path("browser.visited"));
    assert!(wait_until(TIMEOUT, || visited().is_ok_and(|visited| visited == address)));
    assert_eq!(web::get_with_redirects(&address).status, 200);
    assert_eq!(login.ended().code, Some(0));
}

#[test]
fn a_logout_ends_the_login_everywhere() {
    let setup = LoginSetup::logged_in();
    assert_eq!(setup.authority.valid_tokens(), (1, 1));
    let home = setup.home.path("config.json");
    let logout = |home: &Home| finish(home.onecall_with_config(&["logout", "far"]));
    let (mut gateway, authority, _server) = setup.gateway();
    assert_eq!(gateway.prints("print(await mcp__far__add(1, 2))"), "3\n");
    let ended = logout(&gateway.home);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), "Logged out of far\n"));
    assert_eq!(authority.valid_tokens(), (0, 0));
    assert_eq!(vault(&gateway.home), Vec::<PathBuf>::new());
    let failure = gateway.fails("await mcp__far__add(1, 2)");
    assert!(failure.contains(&format!("server 'far' {LOGIN_NEEDED}")), "{failure}");
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
        let ended = finish(home.onecall_with_config(&["login", name, "--no-browser"]));
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
