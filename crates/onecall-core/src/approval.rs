//! Approvals: calls that wait until a person decides about them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallableName, PolicyRule, RunId, Timestamp, ToolAnnotations, ToolPattern};

/// Decides which calls need an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskPolicy {
    /// Patterns of callable names.
    pub patterns: Vec<ToolPattern>,
    /// Kinds of tools, by the hints of their servers.
    pub hints: Vec<ToolHint>,
}

impl AskPolicy {
    /// The first rule by which calls of a tool need an approval, if there is one. Patterns come
    /// before hints, because they name the tool more closely.
    #[must_use]
    pub fn rule(&self, name: &CallableName, annotations: &ToolAnnotations) -> Option<AskRule> {
        self.rule_where(|pattern| pattern.matches(name.as_str()), annotations)
    }

    /// Like [`AskPolicy::rule`], for a tool with several names: `matches` says whether a pattern
    /// matches the tool.
    #[must_use]
    pub fn rule_where(
        &self,
        matches: impl Fn(&ToolPattern) -> bool,
        annotations: &ToolAnnotations,
    ) -> Option<AskRule> {
        let hint = || self.hints.iter().find(|hint| hint.applies(annotations));
        match self.patterns.iter().find(|pattern| matches(pattern)) {
            Some(pattern) => Some(AskRule::Pattern(pattern.as_str().to_owned())),
            None => hint().map(|hint| AskRule::Hint(*hint)),
        }
    }

    /// Whether no call needs an approval.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.hints.is_empty()
    }
}

/// The rule by which a call needs an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskRule {
    /// A pattern of `approvals.ask` matches the callable name.
    Pattern(String),
    /// The tool has a hint that `approvals.hints` names.
    Hint(ToolHint),
    /// A rule of the policy has a person asked.
    Policy(PolicyRule),
}

impl AskRule {
    /// The rule as it is shown to people and written to records.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Pattern(pattern) => format!("approvals.ask: {pattern}"),
            Self::Hint(hint) => format!("approvals.hints: {}", hint.name()),
            Self::Policy(rule) => rule.to_string(),
        }
    }
}

/// A kind of tools, by the hints that their server gives. Where a server gives none, the defaults of
/// the protocol apply: a tool writes, destroys and reaches the open world unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolHint {
    /// The tool may destroy something.
    Destructive,
    /// The tool may change something.
    Writes,
    /// The tool interacts with external systems.
    OpenWorld,
}

impl ToolHint {
    /// Every hint.
    pub const ALL: [Self; 3] = [Self::Destructive, Self::Writes, Self::OpenWorld];

    /// The name of the hint in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Destructive => "destructive",
            Self::Writes => "writes",
            Self::OpenWorld => "open-world",
        }
    }

    /// Whether a tool with these annotations has the hint.
    #[must_use]
    pub fn applies(self, annotations: &ToolAnnotations) -> bool {
        let writes = !annotations.read_only_hint.unwrap_or(false);
        match self {
            Self::Destructive => writes && annotations.destructive_hint.unwrap_or(true),
            Self::Writes => writes,
            Self::OpenWorld => annotations.open_world_hint.unwrap_or(true),
        }
    }
}

/// Identifies one question: a call of a run that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemId(String);

impl ItemId {
    /// The id for the question about a call: the run's id, a dot and the call's number. The call of
    /// a continued run has the same id.
    #[must_use]
    pub fn of(run: &RunId, call: u64) -> Self {
        Self(format!("{run}.{call}"))
    }

    /// The id for the question whether a call happened: `attempt` says how often the call was about
    /// to be sent. Each attempt is a question of its own, so that the answer about an earlier attempt
    /// does not count for a later one.
    #[must_use]
    pub fn of_attempt(run: &RunId, call: u64, attempt: u64) -> Self {
        Self(format!("{run}.{call}.{attempt}"))
    }

    /// Wraps an id that exists already.
    pub fn known(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a person is asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// May the call be made?
    Approve,
    /// The gateway ended while the call was under way. Did the call happen?
    Unknown,
}

impl QuestionKind {
    /// Whether this verdict answers the question. A question whether a call may be made is answered
    /// by an approval or a denial, and a question whether a call happened by one of the others.
    #[must_use]
    pub fn accepts(self, verdict: &Verdict) -> bool {
        match (self, verdict) {
            (Self::Approve, Verdict::Approve { arguments, .. }) => {
                arguments.as_ref().is_none_or(Value::is_object)
            }
            (Self::Approve, Verdict::Deny { .. })
            | (Self::Unknown, Verdict::Happened { .. } | Verdict::NotHappened | Verdict::GiveUp) => {
                true
            }
            (Self::Approve | Self::Unknown, _) => false,
        }
    }
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalQuestion {
    /// Identifies the question.
    pub item: ItemId,
    /// The run that waits.
    pub run: RunId,
    /// The id of the call in its run.
    pub call: u64,
    /// What is asked.
    pub kind: QuestionKind,
    /// The tool as the program named it.
    pub name: CallableName,
    /// The line of the program, if it is known.
    pub line: Option<u32>,
    /// The arguments, a JSON object.
    pub arguments: String,
    /// The rule that asks, as it is shown.
    pub rule: String,
    /// When the question was first asked.
    pub asked: Timestamp,
    /// When the question expires: an unanswered call is denied then.
    pub expires: Timestamp,
    /// The ways in which it may be answered, from the configuration of the gateway that asks.
    pub ways: Vec<ApprovalWay>,
}

impl ApprovalQuestion {
    /// Whether the question may be answered in this way. Rules are a part of every configuration, so
    /// that a question can always expire.
    #[must_use]
    pub fn allows(&self, way: ApprovalWay) -> bool {
        way == ApprovalWay::Rule || self.ways.contains(&way)
    }
}

/// What a person decides about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// The call may be made.
    Approve {
        /// What else the approval covers.
        #[serde(default)]
        scope: ApprovalScope,
        /// Other arguments for the call, a JSON object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    /// The call may not be made; the program gets an error with the reason.
    Deny {
        /// The reason, for the program and its author.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The call was made before the gateway ended; the program gets this result.
    Happened {
        /// The result of the call.
        result: Value,
    },
    /// The call was not made before the gateway ended; it is made now.
    NotHappened,
    /// The run is given up.
    GiveUp,
}

impl Verdict {
    /// The name of the verdict in logs and in the store.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "approve",
            Self::Deny { .. } => "deny",
            Self::Happened { .. } => "happened",
            Self::NotHappened => "not_happened",
            Self::GiveUp => "give_up",
        }
    }
}

/// How far an approval reaches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "for")]
pub enum ApprovalScope {
    /// This call only.
    #[default]
    Once,
    /// All calls of the tool in this run.
    Run,
    /// All calls of the tool with these argument values, until a date.
    Tool {
        /// The values that arguments must have, by argument name. Other arguments may have any.
        #[serde(default)]
        constraints: serde_json::Map<String, Value>,
        /// When the approval ends, in milliseconds since 1970.
        until: i64,
    },
}

/// A verdict, and who gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredVerdict {
    /// The decision.
    pub verdict: Verdict,
    /// Who decided.
    pub by: String,
    /// The way in which it was decided.
    pub way: ApprovalWay,
    /// When it was decided.
    pub at: Timestamp,
}

/// The ways in which a person can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalWay {
    /// The MCP client asks its user.
    Client,
    /// The command line.
    Cli,
    /// The page.
    Page,
    /// An earlier approval covers the call, or the question expired.
    Rule,
}

impl ApprovalWay {
    /// The ways that a configuration can name.
    pub const CONFIGURABLE: [Self; 3] = [Self::Client, Self::Cli, Self::Page];

    /// The name of the way in the configuration and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Cli => "cli",
            Self::Page => "page",
            Self::Rule => "rule",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_have_the_defaults_of_the_protocol() {
        let none = ToolAnnotations::default();
        let reads = ToolAnnotations { read_only_hint: Some(true), ..none.clone() };
        let adds = ToolAnnotations { destructive_hint: Some(false), ..none.clone() };
        let closed = ToolAnnotations { open_world_hint: Some(false), ..none.clone() };
        let hints = |annotations| ToolHint::ALL.map(|hint| hint.applies(annotations));
        assert_eq!(hints(&none), [true, true, true]);
        assert_eq!(hints(&reads), [false, false, true]);
        assert_eq!(hints(&adds), [false, true, true]);
        assert_eq!(hints(&closed), [true, true, false]);
    }

    #[test]
    fn a_pattern_asks_before_a_hint_does() {
        let policy = AskPolicy {
            patterns: vec![ToolPattern::parse("mcp__*__delete_*").unwrap()],
            hints: vec![ToolHint::Writes],
        };
        let reads = ToolAnnotations { read_only_hint: Some(true), ..ToolAnnotations::default() };
        let rule = |name: &str, annotations| {
            let rule = policy.rule(&CallableName::new(name), annotations);
            rule.map(|rule| rule.name())
        };
        let writes = ToolAnnotations::default();
        assert_eq!(
            [
                rule("mcp__db__delete_row", &reads),
                rule("mcp__db__delete_row", &writes),
                rule("mcp__db__add_row", &writes),
                rule("mcp__db__list_rows", &reads),
            ],
            [
                Some("approvals.ask: mcp__*__delete_*".to_owned()),
                Some("approvals.ask: mcp__*__delete_*".to_owned()),
                Some("approvals.hints: writes".to_owned()),
                None,
            ]
        );
        assert!(!policy.is_empty() && AskPolicy::default().is_empty());
    }

    #[test]
    fn a_verdict_survives_being_stored() {
        let verdicts = [
            Verdict::Approve { scope: ApprovalScope::Once, arguments: None },
            Verdict::Approve {
                scope: ApprovalScope::Tool { constraints: serde_json::Map::new(), until: 5 },
                arguments: Some(serde_json::json!({ "id": 1 })),
            },
            Verdict::Deny { reason: Some("no".to_owned()) },
            Verdict::Happened { result: serde_json::json!([1]) },
            Verdict::NotHappened,
            Verdict::GiveUp,
        ];
        for verdict in verdicts {
            let text = serde_json::to_string(&verdict).unwrap();
            assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict, "{text}");
        }
    }
}
