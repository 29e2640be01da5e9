//! Which servers a login trusts: authorization servers that name the endpoints of others, secrets
//! that are meant for one of them, and forged answers.

use serde_json::{Value, json};
use testkit::authorization::{AuthorizationServer, Misbehaviour};
use testkit::web;

use crate::support::login::{LOGIN_NEEDED, Login, LoginSetup};
use crate::support::terminal::Terminal;
use crate::support::{Home, finish};

const ENDPOINTS: [(&str, &str); 4] = [
    ("authorization_endpoint", "/authorize"),
    ("token_endpoint", "/token"),
    ("registration_endpoint", "/register"),
    ("revocation_endpoint", "/revoke"),
];

/// Whether an authorization server received a request to an endpoint of a login.
fn got_requests(authority: &AuthorizationServer) -> bool {
    ENDPOINTS.iter().any(|(_, path)| !authority.requests_to(path).is_empty())
}

/// The entry of a server whose provider has its token endpoint at another origin, as large ones do.
fn split_provider(issuer_is_configured: bool) -> LoginSetup {
    let authority = AuthorizationServer::start();
    authority.override_metadata("token_endpoint", format!("{}/token", authority.other_origin()));
    authority
        .override_metadata("revocation_endpoint", format!("{}/revoke", authority.other_origin()));
    let oauth = match issuer_is_configured {
        true => json!({ "issuer": authority.issuer() }),
        false => json!({}),
    };
    LoginSetup::with(authority, &[], json!({ "oauth": oauth }))
}

/// A login with a terminal, on which the person gives this answer to the question.
fn asked_on_a_terminal(home: &Home, answer: &str) -> (String, Option<String>, Option<i32>) {
    let login = home.onecall_with_config(&["login", "far", "--no-browser", "--timeout", "60"]);
    let mut terminal = Terminal::start(&login);
    let question = terminal.read_until("[y/N] ");
    terminal.type_keys(answer);
    terminal.read_until("this machine:\r\n");
    let address = terminal.read_until("\r\n");
    let address = address.strip_suffix("\r\n").filter(|it| it.starts_with("http"));
    let page = address.map(|address| web::get_with_redirects(address).body);
    (question, page, terminal.finish().1)
}

#[test]
fn endpoints_of_another_origin_are_refused() {
    for (field, path) in ENDPOINTS {
        let (honest, attacker) = (AuthorizationServer::start(), AuthorizationServer::start());
        attacker.override_metadata(field, format!("{}{path}", honest.issuer()));
        let setup = LoginSetup::with(attacker, &[], json!({}));
        let refusal = setup.refusal().replace(&honest.issuer(), "[honest]");
        let what = field.trim_end_matches("_endpoint");
        assert_eq!(
            refusal,
            format!(
                "error: [issuer], where server 'far' wants a login, uses other origins for it \
                 ({what} at [honest]), which could take a login that is meant for one of them; if \
                 they belong together, set 'issuer: [issuer]' under 'oauth' in the server's entry"
            )
        );
        assert!(!got_requests(&honest) && !got_requests(&setup.authority), "{field}");
    }
}

#[test]
fn a_configured_issuer_may_have_endpoints_elsewhere() {
    let setup = split_provider(true);
    let (page, ended) = setup.log_in();
    assert!(page.body.contains("You are logged in"), "{page:?} {ended:?}");
    assert!(setup.check().contains("35 ready"), "{}", setup.check());
    let ended = finish(setup.home.onecall_with_config(&["logout", "far"]));
    assert_eq!(ended.stderr, "Logged out of far\n");
    assert_eq!(setup.authority.valid_tokens(), (0, 0));
}

#[test]
fn a_person_is_asked_with_both_names() {
    let setup = split_provider(false);
    let (question, page, code) = asked_on_a_terminal(&setup.home, "n\n");
    let (issuer, other) = (setup.authority.issuer(), setup.authority.other_origin());
    for name in [&issuer, &format!("token at {other}"), &format!("revocation at {other}")] {
        assert!(question.contains(name), "no {name} in {question}");
    }
    assert_eq!((page, code, setup.vault().len()), (None, Some(1), 0));
    assert!(!got_requests(&setup.authority));

    let (_, page, code) = asked_on_a_terminal(&setup.home, "y\n");
    assert!(page.is_some_and(|page| page.contains("You are logged in")));
    assert_eq!(code, Some(0));
    assert!(setup.check().contains("35 ready"), "{}", setup.check());
}

#[test]
fn a_server_that_copies_the_metadata_of_another_is_refused() {
    let setup = LoginSetup::with(AuthorizationServer::start(), &["--guard", "copied"], json!({}));
    let refusal = setup.refusal();
    assert!(refusal.contains("[server]/ describes itself as [issuer]"), "{refusal}");
    assert!(!got_requests(&setup.authority));

    // The configuration can say that this is right; the login is then made at the issuer itself.
    let authority = AuthorizationServer::start();
    let entry = json!({ "oauth": { "issuer": authority.issuer() } });
    let setup = LoginSetup::with(authority, &["--guard", "copied"], entry);
    assert_eq!(setup.log_in().1.code, Some(0));
    assert!(setup.check().contains("35 ready"), "{}", setup.check());
}

#[test]
fn a_client_secret_goes_to_the_issuer_it_was_configured_for() {
    let client = json!({ "client_id": "me", "client_secret": "kept-to-ourselves" });
    let with_issuer = |issuer: &str| {
        let mut client = client.clone();
        client["issuer"] = issuer.into();
        json!({ "oauth": client })
    };

    // It is not known for whom the secret is.
    let setup = LoginSetup::with(AuthorizationServer::start(), &[], json!({ "oauth": client }));
    assert_eq!(
        setup.refusal(),
        "error: the 'client_secret' of server 'far' would go to [issuer], which only the server names; if you registered onecall there, set 'issuer: [issuer]' under 'oauth' in the \
         server's entry"
    );
    assert!(!got_requests(&setup.authority));

    // The server names another one.
    let (honest, attacker) = (AuthorizationServer::start(), AuthorizationServer::start());
    let setup = LoginSetup::with(attacker, &[], with_issuer(&honest.issuer()));
    assert_eq!(
        setup.refusal().replace(&honest.issuer(), "[honest]"),
        "error: the server wants a login at [issuer], and 'issuer' under 'oauth' in its entry \
         allows only [honest]"
    );
    assert!(!got_requests(&setup.authority) && !got_requests(&honest));

    // The server names another one first.
    let decoy = AuthorizationServer::start();
    let flags = ["--decoy", &decoy.issuer()];
    let entry = with_issuer(&honest.issuer());
    let setup = LoginSetup::with(honest, &flags, entry);
    assert_eq!(setup.log_in().1.code, Some(0));
    assert!(!got_requests(&decoy));
    assert!(setup.authority.requests_to("/token")[0].authorization.is_some());
}

#[test]
fn a_refresh_goes_where_the_login_was_made() {
    let authority = AuthorizationServer::start();
    let oauth = json!({
        "issuer": authority.issuer(), "client_id": "me", "client_secret": "kept-to-ourselves",
    });
    let setup = LoginSetup::with(authority, &[], json!({ "oauth": oauth }));
    assert_eq!(setup.log_in().1.code, Some(0));
    let attacker = AuthorizationServer::start();
    for (field, path) in ENDPOINTS {
        setup.authority.override_metadata(field, format!("{}{path}", attacker.issuer()));
    }
    setup.authority.revoke_access_tokens();
    assert!(setup.check().contains("35 ready"), "{}", setup.check());
    assert_eq!(setup.authority.refresh_count(), 1);

    // With another issuer in the configuration, the login and the secret are not for each other.
    let config = std::fs::read_to_string(setup.home.path("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["servers"][0]["oauth"]["issuer"] = attacker.issuer().into();
    setup.home.write("config.json", config.to_string());
    setup.authority.revoke_access_tokens();
    assert!(setup.check().ends_with(LOGIN_NEEDED), "{}", setup.check());
    let ended = finish(setup.home.onecall_with_config(&["logout", "far"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(setup.authority.refresh_count(), 1);
    let revoked = setup.authority.requests_to("/revoke");
    assert!(!revoked.is_empty() && revoked.iter().all(|it| it.authorization.is_none()));
    assert!(!got_requests(&attacker));
}

#[test]
fn an_answer_with_another_state_does_not_end_the_login() {
    let setup = LoginSetup::new();
    let mut login = Login::start(&setup.home, &[]);
    let page = web::get(&login.address().unwrap());
    let right = page.location.unwrap();
    let (callback, _) = right.split_once('?').unwrap();
    let forged = [
        format!("{callback}?code=stolen&state=guessed"),
        format!("{callback}?code=stolen"),
        format!("{callback}?error=access_denied&state=guessed"),
        format!("{callback}?error=access_denied&error_description=give%20up"),
        right.replace("state=", "state=x"),
        callback.to_owned(),
    ];
    for address in &forged {
        let page = web::get(address);
        assert_eq!(page.status, 400, "{address}");
        assert!(page.body.contains("does not belong to the login"), "{page:?}");
    }
    let page = web::get(&right);
    assert!(page.status == 200 && page.body.contains("You are logged in"), "{page:?}");
    assert_eq!(login.ended().code, Some(0));
    let [asked] = &setup.authority.requests_to("/token")[..] else { panic!("asked twice") };
    assert_ne!(asked.fields["code"], "stolen");
}

#[test]
fn the_issuer_of_an_answer_is_checked_even_where_it_is_not_promised() {
    let unpromised = |how| {
        let authority = AuthorizationServer::misbehaving(how);
        authority.override_metadata("authorization_response_iss_parameter_supported", false);
        LoginSetup::with(authority, &[], json!({}))
    };
    assert_eq!(
        unpromised(Misbehaviour::WrongIssuer).refusal(),
        "error: the answer in the browser names https://bank.example, not [issuer]; the answer may \
         be forged"
    );
    assert_eq!(unpromised(Misbehaviour::NoIssuer).log_in().1.code, Some(0));
}
