//! Reads the section `users`: who may use a gateway that serves many people, and how much.

use std::time::Duration;

use onecall_core::Secret;
use url::Url;

use crate::address::{http_url, is_loopback_url};
use crate::document::Node;
use crate::error::{Problem, Report};
use crate::expand::{Environment, expand};
use crate::oauth;
use crate::reader::{self, Entry, Section};
use crate::schema::{OIDC, USERS};

/// The settings of a gateway that serves many people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersConfig {
    /// The address at which people and clients reach the gateway, without a slash at its end.
    pub public_url: Option<String>,
    /// The identity provider whose tokens are accepted, if any.
    pub oidc: Option<OidcConfig>,
    /// Whether personal tokens are accepted.
    pub tokens: bool,
    /// The group whose members see the runs of all users.
    pub admin_group: String,
    /// How many programs one user may run at once; `None` sets no limit.
    pub max_programs: Option<usize>,
    /// How many tool calls one user may make in a minute; `None` sets no limit.
    pub calls_per_minute: Option<u32>,
    /// How many processes and connections with credentials of users there may be at once.
    pub max_user_processes: usize,
    /// A process or connection with the credentials of a user is stopped if it was not used for this
    /// long.
    pub idle: Duration,
}

/// The identity provider whose tokens are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcConfig {
    /// The issuer name, which is also the address of the provider.
    pub issuer: String,
    /// The audience that tokens must be made for. It is the name of this gateway as a protected
    /// resource.
    pub audience: String,
    /// The claim with the name of the user.
    pub name_claim: String,
    /// The claim with the groups of the user.
    pub groups_claim: String,
    /// The scopes that a token must have.
    pub scopes: Vec<String>,
    /// The name by which the provider knows the page, if people can sign in to the page there.
    pub client_id: Option<String>,
    /// The secret that belongs to the client id, if the provider has given one.
    pub client_secret: Option<Secret>,
}

impl Default for UsersConfig {
    fn default() -> Self {
        Self {
            public_url: None,
            oidc: None,
            tokens: true,
            admin_group: "admin".to_owned(),
            max_programs: None,
            calls_per_minute: None,
            max_user_processes: 64,
            idle: Duration::from_secs(600),
        }
    }
}

pub(crate) fn read_users(
    entry: &Entry<'_>,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<UsersConfig> {
    let section = Section::open(entry.value, "users", USERS, report)?;
    let mut users = UsersConfig::default();
    let public_url = section.get("public_url");
    users.public_url = public_url.and_then(|node| {
        let url = address(node, "'public_url' in users", environment, report)?;
        Some(url.trim_end_matches('/').to_owned())
    });
    if let Some(oidc) = section.entry("oidc") {
        users.oidc = read_oidc(oidc, users.public_url.as_deref(), environment, report);
    }
    if let Some(node) = section.get("tokens") {
        users.tokens = reader::boolean(node, "'tokens' in users", report)?;
    }
    if !users.tokens && section.entry("oidc").is_none() {
        let message = "users has neither 'oidc' nor 'tokens', so nobody could log in";
        let help = "name an identity provider with 'oidc', or write 'tokens: true'";
        report.add(Problem::new(entry.at, message).with_help(help));
    }
    if let Some(node) = section.get("admin_group") {
        let what = "'admin_group' in users";
        let group = reader::text(node, what, report)?.to_owned();
        users.admin_group = reader::not_empty(node, what, group, report)?;
    }
    let mut number = |key: &str, most: u64| {
        let node = section.get(key)?;
        reader::whole_number(node, &format!("'{key}' in users"), 1..=most, report)
    };
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    users.max_programs = number("max_programs", 10_000).map(count);
    users.calls_per_minute =
        number("calls_per_minute", 1_000_000).and_then(|it| u32::try_from(it).ok());
    users.max_user_processes =
        number("max_user_processes", 10_000).map_or(users.max_user_processes, count);
    if let Some(node) = section.get("idle_seconds") {
        users.idle = reader::seconds(node, "'idle_seconds' in users", report)?;
    }
    Some(users)
}

fn read_oidc(
    entry: &Entry<'_>,
    public_url: Option<&str>,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<OidcConfig> {
    let what = "'oidc' in users";
    let section = Section::open(entry.value, what, OIDC, report)?;
    let Some(node) = section.get("issuer") else {
        let message = format!("{what} needs an 'issuer'");
        let help = "the address of your identity provider, as in https://idp.example.com";
        report.add(Problem::new(entry.at, message).with_help(help));
        return None;
    };
    let issuer = address(node, "'issuer' in 'oidc' in users", environment, report)?;
    let mut text = |key: &str| {
        let (node, what) = (section.get(key)?, format!("'{key}' in 'oidc' in users"));
        let text = reader::text(node, &what, report)?;
        let text = reader::check_expanded(node, &what, expand(text, environment), report)?;
        reader::not_empty(node, &what, text, report)
    };
    let (audience, name_claim, groups_claim) =
        (text("audience"), text("name_claim"), text("groups_claim"));
    let (client_id, client_secret) = (text("client_id"), text("client_secret").map(Secret::new));
    if let Some(secret) = section.entry("client_secret")
        && section.entry("client_id").is_none()
    {
        let message = format!("{what} has a 'client_secret' without a 'client_id'");
        report.add(Problem::new(secret.at, message).with_help("they belong together"));
    }
    let scopes = section
        .get("scopes")
        .map(|node| oauth::scopes(node, "'scopes' in 'oidc' in users", report));
    let derived = || public_url.map(|url| format!("{url}/mcp"));
    let Some(audience) = audience.or_else(derived) else {
        let message = format!("{what} needs an 'audience', or users a 'public_url'");
        let help = "the audience is the address at which clients reach onecall, as in \
                    https://onecall.example.com/mcp";
        report.add(Problem::new(entry.at, message).with_help(help));
        return None;
    };
    Some(OidcConfig {
        issuer,
        audience,
        name_claim: name_claim.unwrap_or_else(|| "sub".to_owned()),
        groups_claim: groups_claim.unwrap_or_else(|| "groups".to_owned()),
        scopes: scopes.unwrap_or_default(),
        client_id,
        client_secret,
    })
}

/// Reads an `https://` address, or an `http://` address on this machine.
fn address(
    node: &Node,
    what: &str,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<String> {
    let text = reader::text(node, what, report)?;
    let text = reader::check_expanded(node, what, expand(text, environment), report)?;
    let is_safe = |url: &Url| url.scheme() == "https" || is_loopback_url(url);
    if http_url(&text).is_some_and(|url| is_safe(&url)) && !text.contains(['?', '#', '@']) {
        return Some(text);
    }
    let message = format!("{what} must be an https:// address");
    let help = "without '?' and '#', and http:// only on this machine";
    report.add(Problem::new(node.at, message).with_help(help));
    None
}

/// What the audit trail keeps of arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditLevel {
    /// There is no audit trail.
    #[default]
    Off,
    /// Only the digest of the arguments is kept.
    Hash,
    /// The arguments are kept, without the secrets of the configuration.
    Full,
}

impl AuditLevel {
    /// Every level with its name in the configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("off", Self::Off), ("hash", Self::Hash), ("full", Self::Full)];
}
