//! Reads the section `oauth` of a server's entry: how to log in to a remote server.

use onecall_core::Secret;
use url::Url;

use crate::address::{http_url, is_loopback_url};
use crate::document::Node;
use crate::error::{Problem, Report};
use crate::expand::{Environment, expand};
use crate::model::OAuthConfig;
use crate::reader::{self, Section};
use crate::schema::OAUTH;

/// Reads the section; `what` is its name in messages.
pub(crate) fn read(
    node: &Node,
    what: &str,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<OAuthConfig> {
    let section = Section::open(node, what, OAUTH, report)?;
    let label = |key: &str| format!("'{key}' in {what}");
    let mut value = |key: &str| {
        let (node, what) = (section.get(key)?, label(key));
        let text = reader::text(node, &what, report)?;
        let text = reader::check_expanded(node, &what, expand(text, environment), report)?;
        reader::not_empty(node, &what, text, report)
    };
    let issuer = value("issuer");
    let client_id = value("client_id");
    let client_secret = value("client_secret").map(Secret::new);
    if let Some(secret) = section.entry("client_secret")
        && section.entry("client_id").is_none()
    {
        let message = format!("{what} has a 'client_secret' without a 'client_id'");
        report.add(Problem::new(secret.at, message).with_help("they belong together"));
    }
    let issuer = issuer.filter(|issuer| {
        let is_issuer = is_issuer(issuer);
        if let Some(node) = section.get("issuer").filter(|_| !is_issuer) {
            let message = format!("{} must be an https:// address", label("issuer"));
            let help = "without '?' and '#', and http:// only on this machine";
            report.add(Problem::new(node.at, message).with_help(help));
        }
        is_issuer
    });
    let scopes = section.get("scopes").map(|node| scopes(node, &label("scopes"), report));
    let port = section.get("redirect_port").and_then(|node| {
        let port = reader::whole_number(node, &label("redirect_port"), 1..=65_535, report)?;
        u16::try_from(port).ok()
    });
    let scopes = scopes.unwrap_or_default();
    Some(OAuthConfig { issuer, client_id, client_secret, scopes, redirect_port: port })
}

/// Whether a text can be an issuer name.
fn is_issuer(text: &str) -> bool {
    let is_safe = |url: &Url| url.scheme() == "https" || is_loopback_url(url);
    http_url(text).is_some_and(|url| is_safe(&url)) && !text.contains(['?', '#', '@'])
}

pub(crate) fn scopes(node: &Node, what: &str, report: &mut Report) -> Vec<String> {
    let items = reader::list(node, what, report).unwrap_or_default();
    let each = format!("each of {what}");
    let mut scope = |item: &Node| {
        let text = reader::text(item, &each, report)?;
        if !is_scope(text) {
            let message = format!("{each} must be one word");
            report.add(Problem::new(item.at, message).with_help("give several as several items"));
            return None;
        }
        Some(text.to_owned())
    };
    items.iter().filter_map(&mut scope).collect()
}

fn is_scope(text: &str) -> bool {
    let is_allowed = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    !text.is_empty() && text.bytes().all(is_allowed)
}
