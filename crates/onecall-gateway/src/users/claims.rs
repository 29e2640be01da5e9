//! Reads who a user is from the claims of a token whose signature, issuer, audience and times were
//! verified.

use std::collections::BTreeSet;

use onecall_config::OidcConfig;
use onecall_core::{MAX_GROUPS, UserName, check_group_name};
use serde_json::{Map, Value};

use super::refusal::LoginRefusal;

/// How far the clock of the issuer may be ahead, in seconds.
pub(super) const CLOCK_SKEW: u64 = 60;

/// The user that a token was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) name: UserName,
    pub(super) groups: BTreeSet<String>,
}

/// Reads the user from the claims. `now` is in seconds since 1970.
pub(super) fn identity(
    claims: &Map<String, Value>,
    config: &OidcConfig,
    now: u64,
) -> Result<Identity, LoginRefusal> {
    let unusable = |claim: &str| LoginRefusal::Claim(claim.to_owned());
    // A list of issuers is not an issuer.
    if claims.get("iss").and_then(Value::as_str) != Some(config.issuer.as_str()) {
        return Err(LoginRefusal::Issuer);
    }
    match claims.get("iat") {
        None | Some(Value::Null) => {}
        Some(issued) => {
            let issued = issued.as_f64().ok_or_else(|| unusable("iat"))?;
            let latest = now.saturating_add(CLOCK_SKEW);
            if issued > seconds(latest) {
                return Err(LoginRefusal::NotYetValid);
            }
        }
    }
    let name = claims.get(&config.name_claim).and_then(Value::as_str);
    let name = name.and_then(|name| UserName::parse(name).ok());
    let name = name.ok_or_else(|| unusable(&config.name_claim))?;
    let groups = groups(claims.get(&config.groups_claim));
    let groups = groups.ok_or_else(|| unusable(&config.groups_claim))?;
    let scopes = scopes(claims);
    if !config.scopes.iter().all(|scope| scopes.contains(scope.as_str())) {
        return Err(LoginRefusal::MissingScopes(config.scopes.clone()));
    }
    Ok(Identity { name, groups })
}

/// Seconds as the number that claims have.
fn seconds(count: u64) -> f64 {
    // Times of this century fit without a loss.
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

/// The groups in a claim, which may be missing; `None` if they cannot be used.
fn groups(claim: Option<&Value>) -> Option<BTreeSet<String>> {
    let names = match claim {
        None | Some(Value::Null) => return Some(BTreeSet::new()),
        Some(Value::String(one)) => return checked(one).map(|one| BTreeSet::from([one])),
        Some(Value::Array(names)) => names,
        Some(_) => return None,
    };
    // Some of many groups could be those that a policy forbids something.
    if names.len() > MAX_GROUPS {
        return None;
    }
    names.iter().map(|name| name.as_str().and_then(checked)).collect()
}

fn checked(name: &str) -> Option<String> {
    check_group_name(name).is_ok().then(|| name.to_owned())
}

/// The scopes of a token: `scope`, or `scp`, which some providers write as a list.
fn scopes(claims: &Map<String, Value>) -> BTreeSet<&str> {
    let claims = ["scope", "scp"].into_iter().filter_map(|name| claims.get(name));
    let texts = claims.flat_map(|claim| match claim {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect::<Vec<_>>(),
    });
    texts.flat_map(str::split_ascii_whitespace).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn config() -> OidcConfig {
        OidcConfig {
            issuer: "https://idp.example".to_owned(),
            audience: "https://onecall.example/mcp".to_owned(),
            name_claim: "sub".to_owned(),
            groups_claim: "groups".to_owned(),
            scopes: Vec::new(),
            client_id: None,
            client_secret: None,
        }
    }

    /// The result for valid claims with these changes; a claim that is `null` is removed.
    fn read(changes: &Value, config: &OidcConfig) -> Result<Identity, LoginRefusal> {
        let mut claims = json!({ "iss": "https://idp.example", "sub": "anna", "iat": NOW });
        let claims = claims.as_object_mut().unwrap();
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => _ = claims.remove(name),
                value => _ = claims.insert(name.clone(), value.clone()),
            }
        }
        identity(claims, config, NOW)
    }

    fn user(name: &str, groups: &[&str]) -> Result<Identity, LoginRefusal> {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Ok(Identity { name: UserName::parse(name).unwrap(), groups })
    }

    fn claim(name: &str) -> Result<Identity, LoginRefusal> {
        Err(LoginRefusal::Claim(name.to_owned()))
    }

    #[test]
    fn a_name_and_groups_are_read_from_the_configured_claims() {
        let other = OidcConfig {
            name_claim: "email".to_owned(),
            groups_claim: "roles".to_owned(),
            ..config()
        };
        assert_eq!(read(&json!({}), &config()), user("anna", &[]));
        let groups = json!({ "groups": ["dev", "admin", "dev"] });
        assert_eq!(read(&groups, &config()), user("anna", &["admin", "dev"]));
        assert_eq!(read(&json!({ "groups": "dev" }), &config()), user("anna", &["dev"]));
        let email = json!({ "email": "a@example.com", "roles": ["x"], "groups": ["y"] });
        assert_eq!(read(&email, &other), user("a@example.com", &["x"]));
        assert_eq!(read(&json!({}), &other), claim("email"));
    }

    #[test]
    fn names_and_groups_that_people_cannot_read_are_refused() {
        for name in
            [json!(null), json!(""), json!(7), json!(["anna"]), json!("local"), json!("a\u{200b}")]
        {
            assert_eq!(read(&json!({ "sub": name }), &config()), claim("sub"), "{name}");
        }
        let many = vec!["g"; MAX_GROUPS + 1];
        for groups in
            [json!(7), json!({}), json!(["dev", 7]), json!([""]), json!(["\n"]), json!(many)]
        {
            assert_eq!(read(&json!({ "groups": groups }), &config()), claim("groups"));
        }
    }

    #[test]
    fn all_scopes_are_required_and_named() {
        let required = ["mcp:run".to_owned(), "mcp:list".to_owned()];
        let config = OidcConfig { scopes: required.to_vec(), ..config() };
        for enough in [
            json!({ "scope": "openid mcp:list mcp:run" }),
            json!({ "scp": ["mcp:list", "mcp:run"] }),
            json!({ "scp": "mcp:list mcp:run" }),
            json!({ "scope": "mcp:list", "scp": ["mcp:run"] }),
        ] {
            assert_eq!(read(&enough, &config), user("anna", &[]), "{enough}");
        }
        for missing in
            [json!({}), json!({ "scope": "mcp:list" }), json!({ "scope": "mcp:listmcp:run" })]
        {
            let refused = Err(LoginRefusal::MissingScopes(required.to_vec()));
            assert_eq!(read(&missing, &config), refused, "{missing}");
        }
    }

    #[test]
    fn a_token_of_the_future_or_of_others_is_refused() {
        assert_eq!(read(&json!({ "iat": NOW + 59 }), &config()), user("anna", &[]));
        assert_eq!(read(&json!({ "iat": null }), &config()), user("anna", &[]));
        let refused = Err(LoginRefusal::NotYetValid);
        assert_eq!(read(&json!({ "iat": NOW + 61 }), &config()), refused);
        assert_eq!(read(&json!({ "iat": "now" }), &config()), claim("iat"));
        for issuer in [
            json!(null),
            json!("https://idp.example/"),
            json!("https://IDP.example"),
            json!(["https://idp.example"]),
        ] {
            let refused = Err(LoginRefusal::Issuer);
            assert_eq!(read(&json!({ "iss": issuer }), &config()), refused, "{issuer}");
        }
    }
}
