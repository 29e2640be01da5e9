//! Whom a login trusts: authorization servers that name the endpoints of others, secrets that are
//! meant for one of them, and forged answers.

use serde_json::{Value, json};
use testkit::authorization::{AuthorizationServer, Misbehaviour};
use testkit::web;

use crate::support::login::{Login, NEEDED, World};
use crate::support::terminal::Terminal;
use crate::support::{Home, finish};

const ENDPOINTS: [(&str, &str); 4] = [
    ("authorization_endpoint", "/authorize"),
    ("token_endpoint", "/token"),
    ("registration_endpoint", "/register"),
    ("revocation_endpoint", "/revoke"),
];

/// Everything secret, or on the way to it, that an authorization server was asked.
fn was_asked(authority: &AuthorizationServer) -> bool {
    ENDPOINTS.iter().any(|(_, path)| !authority.asked(path).is_empty())
}

/// The entry of a server whose provider has its token endpoint at another origin, as large ones do.
fn split_provider(issuer_is_configured: bool) -> World {
    let authority = AuthorizationServer::start();
    authority.claim("token_endpoint", format!("{}/token", authority.other_origin()));
    authority.claim("revocation_endpoint", format!("{}/revoke", authority.other_origin()));
    let oauth = match issuer_is_configured {
        true => json!({ "issuer": authority.issuer() }),
        false => json!({}),
    };
    World::with(authority, &[], json!({ "oauth": oauth }))
}

/// A login with a terminal, on which the person gives this answer to the question.
fn asked_on_a_terminal(home: &Home, answer: &str) -> (String, Option<String>, Option<i32>) {
    let login = home.configured(&["login", "far", "--no-browser", "--timeout", "60"]);
    let mut terminal = Terminal::start(&login);
    let question = terminal.read_until("[y/N] ");
    terminal.type_keys(answer);
    terminal.read_until("this machine:\r\n");
    let address = terminal.read_until("\r\n");
    let address = address.strip_suffix("\r\n").filter(|it| it.starts_with("http"));
    let page = address.map(|address| web::visit(address).body);
    (question, page, terminal.finish().1)
}

#[test]
fn endpoints_of_another_origin_are_refused() {
    for (field, path) in ENDPOINTS {
        let (honest, attacker) = (AuthorizationServer::start(), AuthorizationServer::start());
        attacker.claim(field, format!("{}{path}", honest.issuer()));
        let world = World::with(attacker, &[], json!({}));
        let refusal = world.refusal().replace(&honest.issuer(), "[honest]");
        let what = field.trim_end_matches("_endpoint");
        assert_eq!(
            refusal,
            format!(
                "error: [issuer], where server 'far' wants a login, uses other origins for it \
                 ({what} at [honest]), which could take a login that is meant for one of them; if \
                 they belong together, set 'issuer: [issuer]' under 'oauth' in the server's entry"
            )
        );
        assert!(!was_asked(&honest) && !was_asked(&world.authority), "{field}");
    }
}

#[test]
fn a_configured_issuer_may_have_endpoints_elsewhere() {
    let world = split_provider(true);
    let (page, ended) = world.log_in();
    assert!(page.body.contains("You are logged in"), "{page:?} {ended:?}");
    assert!(world.check().contains("35 ready"), "{}", world.check());
    let ended = finish(world.home.configured(&["logout", "far"]));
    assert_eq!(ended.stderr, "Logged out of far\n");
    assert_eq!(world.authority.valid_tokens(), (0, 0));
}

#[test]
fn a_person_is_asked_with_both_names() {
    let world = split_provider(false);
    let (question, page, code) = asked_on_a_terminal(&world.home, "n\n");
    let (issuer, other) = (world.authority.issuer(), world.authority.other_origin());
    for name in [&issuer, &format!("token at {other}"), &format!("revocation at {other}")] {
        assert!(question.contains(name), "no {name} in {question}");
    }
    assert_eq!((page, code, world.vault().len()), (None, Some(1), 0));
    assert!(!was_asked(&world.authority));

    let (_, page, code) = asked_on_a_terminal(&world.home, "y\n");
    assert!(page.is_some_and(|page| page.contains("You are logged in")));
    assert_eq!(code, Some(0));
    assert!(world.check().contains("35 ready"), "{}", world.check());
}

#[test]
fn a_server_that_copies_the_metadata_of_another_is_refused() {
    let world = World::with(AuthorizationServer::start(), &["--guard", "copied"], json!({}));
    let refusal = world.refusal();
    assert!(refusal.contains("[server]/ describes itself as [issuer]"), "{refusal}");
    assert!(!was_asked(&world.authority));

    // The configuration can say that this is right; the login is then made at the issuer itself.
    let authority = AuthorizationServer::start();
    let entry = json!({ "oauth": { "issuer": authority.issuer() } });
    let world = World::with(authority, &["--guard", "copied"], entry);
    assert_eq!(world.log_in().1.code, Some(0));
    assert!(world.check().contains("35 ready"), "{}", world.check());
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
    let world = World::with(AuthorizationServer::start(), &[], json!({ "oauth": client }));
    assert_eq!(
        world.refusal(),
        "error: the 'client_secret' of server 'far' would go to [issuer], which is what the server \
         says; if that is where onecall was registered, set 'issuer: [issuer]' under 'oauth' in the \
         server's entry"
    );
    assert!(!was_asked(&world.authority));

    // The server names another one.
    let (honest, attacker) = (AuthorizationServer::start(), AuthorizationServer::start());
    let world = World::with(attacker, &[], with_issuer(&honest.issuer()));
    assert_eq!(
        world.refusal().replace(&honest.issuer(), "[honest]"),
        "error: the server wants a login at [issuer], and 'issuer' under 'oauth' in its entry \
         allows only [honest]"
    );
    assert!(!was_asked(&world.authority) && !was_asked(&honest));

    // The server names another one first.
    let decoy = AuthorizationServer::start();
    let flags = ["--decoy", &decoy.issuer()];
    let entry = with_issuer(&honest.issuer());
    let world = World::with(honest, &flags, entry);
    assert_eq!(world.log_in().1.code, Some(0));
    assert!(!was_asked(&decoy));
    assert!(world.authority.asked("/token")[0].authorization.is_some());
}

#[test]
fn a_refresh_goes_where_the_login_was_made() {
    let authority = AuthorizationServer::start();
    let oauth = json!({
        "issuer": authority.issuer(), "client_id": "me", "client_secret": "kept-to-ourselves",
    });
    let world = World::with(authority, &[], json!({ "oauth": oauth }));
    assert_eq!(world.log_in().1.code, Some(0));
    let attacker = AuthorizationServer::start();
    for (field, path) in ENDPOINTS {
        world.authority.claim(field, format!("{}{path}", attacker.issuer()));
    }
    world.authority.end_tokens();
    assert!(world.check().contains("35 ready"), "{}", world.check());
    assert_eq!(world.authority.renewals(), 1);

    // With another issuer in the configuration, the login and the secret are not for each other.
    let config = std::fs::read_to_string(world.home.path("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["servers"][0]["oauth"]["issuer"] = attacker.issuer().into();
    world.home.write("config.json", config.to_string());
    world.authority.end_tokens();
    assert!(world.check().ends_with(NEEDED), "{}", world.check());
    let ended = finish(world.home.configured(&["logout", "far"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(world.authority.renewals(), 1);
    let revoked = world.authority.asked("/revoke");
    assert!(!revoked.is_empty() && revoked.iter().all(|it| it.authorization.is_none()));
    assert!(!was_asked(&attacker));
}

#[test]
fn an_answer_with_another_state_does_not_end_the_login() {
    let world = World::new();
    let mut login = Login::start(&world.home, &[]);
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
    let [asked] = &world.authority.asked("/token")[..] else { panic!("asked twice") };
    assert_ne!(asked.fields["code"], "stolen");
}

#[test]
fn the_issuer_of_an_answer_is_checked_even_where_it_is_not_promised() {
    let unpromised = |how| {
        let authority = AuthorizationServer::misbehaving(how);
        authority.claim("authorization_response_iss_parameter_supported", false);
        World::with(authority, &[], json!({}))
    };
    assert_eq!(
        unpromised(Misbehaviour::WrongIssuer).refusal(),
        "error: the answer in the browser names https://bank.example, not [issuer]; the answer may \
         be forged"
    );
    assert_eq!(unpromised(Misbehaviour::NoIssuer).log_in().1.code, Some(0));
}
