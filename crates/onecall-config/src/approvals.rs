//! Reads the section `approvals`: which calls wait for a person, how long, and who may answer.

use std::time::Duration;

use onecall_core::{
    ApprovalWay, AskPolicy, AskRule, CallableName, Secret, ToolAnnotations, ToolHint, ToolPattern,
};
use url::Url;

use crate::address::{http_url, is_loopback_url};
use crate::document::Node;
use crate::error::{Problem, Report};
use crate::expand::{Environment, expand};
use crate::parse::{read_choices, read_patterns};
use crate::reader::{self, Entry, Section};
use crate::schema::{APPROVALS, WEBHOOK};

/// The settings of approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// Patterns of callable names whose calls need an approval.
    pub ask: Vec<ToolPattern>,
    /// Kinds of tools whose calls need an approval.
    pub hints: Vec<ToolHint>,
    /// How long a request waits for answers before it returns that the program waits.
    pub wait: Duration,
    /// How long the process of a waiting program is kept.
    pub keep: Duration,
    /// How long a question stays open.
    pub expire: Duration,
    /// Where questions may be answered, without duplicates.
    pub ways: Vec<ApprovalWay>,
    /// Where each question is posted, if anywhere.
    pub webhook: Option<Webhook>,
}

/// The address to which each question is posted.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The `https://` address, or an `http://` address on this machine.
    pub url: String,
    /// The secret that messages are signed with.
    pub secret: Secret,
}

// Parts of the address may be a token.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Webhook").finish_non_exhaustive()
    }
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            ask: Vec::new(),
            hints: Vec::new(),
            wait: Duration::from_secs(45),
            keep: Duration::from_secs(300),
            expire: Duration::from_secs(604_800),
            ways: ApprovalWay::CONFIGURABLE.to_vec(),
            webhook: None,
        }
    }
}

impl ApprovalSettings {
    /// The rules that decide which calls need an approval.
    #[must_use]
    pub fn policy(&self) -> AskPolicy {
        AskPolicy { patterns: self.ask.clone(), hints: self.hints.clone() }
    }

    /// The first rule by which calls of a tool need an approval, if there is one.
    #[must_use]
    pub fn ask_rule(&self, name: &CallableName, annotations: &ToolAnnotations) -> Option<AskRule> {
        self.policy().rule(name, annotations)
    }

    /// Whether questions may be answered in this way.
    #[must_use]
    pub fn allows(&self, way: ApprovalWay) -> bool {
        self.ways.contains(&way)
    }
}

pub(crate) fn read_approvals(
    node: &Node,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<ApprovalSettings> {
    let section = Section::open(node, "approvals", APPROVALS, report)?;
    let mut settings = ApprovalSettings::default();
    if let Some(node) = section.get("ask") {
        settings.ask = read_patterns(node, "'ask' in approvals", report)?;
    }
    if let Some(node) = section.get("hints") {
        let names = ToolHint::ALL.map(|hint| (hint.name(), hint));
        settings.hints = read_choices(node, "'hints' in approvals", "a hint", &names, report)?;
    }
    let mut span = |key: &str, range, span: &mut Duration| {
        let what = format!("'{key}' in approvals");
        let node = section.get(key);
        let seconds = node.and_then(|node| reader::whole_number(node, &what, range, report));
        *span = seconds.map_or(*span, Duration::from_secs);
    };
    span("wait_seconds", 0..=3_600, &mut settings.wait);
    span("keep_seconds", 0..=86_400, &mut settings.keep);
    span("expire_seconds", 60..=31_536_000, &mut settings.expire);
    if let Some(entry) = section.entry("ways") {
        settings.ways = read_ways(entry, !settings.policy().is_empty(), report)?;
    }
    if let Some(entry) = section.entry("webhook") {
        settings.webhook = read_webhook(entry, environment, report);
    }
    Some(settings)
}

/// Reads the list of ways. It must not be empty if some calls need an approval, because nobody could
/// answer.
fn read_ways(entry: &Entry<'_>, asks: bool, report: &mut Report) -> Option<Vec<ApprovalWay>> {
    let names = ApprovalWay::CONFIGURABLE.map(|way| (way.name(), way));
    let what = "'ways' in approvals";
    let chosen = read_choices(entry.value, what, "a way to answer", &names, report)?;
    let is_empty = reader::list(entry.value, what, report)?.is_empty();
    if is_empty && asks {
        let message = "'ways' in approvals is empty, but 'ask' or 'hints' names calls that need an \
                       approval: nobody could answer";
        let help = "name at least one of client, cli, page, or leave 'ways' out";
        report.add(Problem::new(entry.at, message).with_help(help));
    }
    let mut ways = Vec::new();
    for way in chosen {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    Some(ways)
}

fn read_webhook(
    entry: &Entry<'_>,
    environment: &Environment<'_>,
    report: &mut Report,
) -> Option<Webhook> {
    let section = Section::open(entry.value, "'webhook' in approvals", WEBHOOK, report)?;
    let mut value = |key: &str| {
        let what = format!("'{key}' in 'webhook' in approvals");
        let Some(node) = section.get(key) else {
            let message = format!("'webhook' in approvals needs '{key}'");
            let help = match key {
                "secret" => "messages are signed with it, so that their receiver can trust them",
                _ => "as in 'https://hooks.example.com/onecall'",
            };
            report.add(Problem::new(entry.at, message).with_help(help));
            return None;
        };
        let text = reader::text(node, &what, report)?;
        let text = reader::check_expanded(node, &what, expand(text, environment), report)?;
        reader::not_empty(node, &what, text, report).map(|text| (node, text))
    };
    let (url, secret) = (value("url"), value("secret"));
    let ((node, url), (_, secret)) = (url?, secret?);
    let is_safe = |url: &Url| url.scheme() == "https" || is_loopback_url(url);
    if !http_url(&url).is_some_and(|url| is_safe(&url)) {
        let message = "'url' in 'webhook' in approvals must be an https:// address";
        let help = "http:// is possible only on this machine, as in http://localhost:8080/hook";
        report.add(Problem::new(node.at, message).with_help(help));
        return None;
    }
    Some(Webhook { url, secret: Secret::new(secret) })
}
