//! The options of `approve` and `deny`, and the answer that they stand for.

use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use onecall_core::{ApprovalQuestion, ApprovalScope, QuestionKind, Timestamp, Verdict};
use serde_json::{Map, Value};
use thiserror::Error;

use super::Selection;
use crate::time_span::parse_time_span;

/// What `onecall approvals approve` takes.
#[derive(Args, Debug)]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    pub(super) which: Selection,
    /// Approve all further calls of the tool in this run, too
    #[arg(long, conflicts_with_all = ["until", "happened", "not_happened"])]
    for_run: bool,
    /// Approve all calls of the tool until a date or for a span of time, such as 2026-12-31 or 7d
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    #[arg(conflicts_with_all = ["happened", "not_happened"])]
    until: Option<Timestamp>,
    /// With --until: only calls with this value of an argument; ARG alone means the value that the
    /// call has, or the one of --arguments. May be repeated
    #[arg(long = "where", value_name = "ARG=VALUE", requires = "until")]
    constraints: Vec<String>,
    /// Make the call with these arguments instead of the program's
    #[arg(long, value_name = "JSON", conflicts_with_all = ["happened", "not_happened", "all"])]
    arguments: Option<String>,
    /// The call was made before the gateway ended, with this result
    #[arg(long, value_name = "JSON", conflicts_with_all = ["not_happened", "all"])]
    happened: Option<String>,
    /// The call was not made before the gateway ended: make it now
    #[arg(long)]
    not_happened: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What `onecall approvals deny` takes.
#[derive(Args, Debug)]
pub(crate) struct DenyArguments {
    #[command(flatten)]
    pub(super) which: Selection,
    /// Why; the program gets this text in its error
    #[arg(long, value_name = "TEXT", conflicts_with = "give_up")]
    reason: Option<String>,
    /// End the run, if nobody knows whether the call happened
    #[arg(long)]
    give_up: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// The answer that the command line gives.
#[derive(Debug)]
pub(super) enum Choice {
    Approve { reach: Reach, arguments: Option<Value> },
    Deny { reason: Option<String> },
    Happened { result: Value },
    NotHappened,
    GiveUp,
}

/// How far an approval reaches.
#[derive(Debug)]
pub(super) enum Reach {
    Once,
    Run,
    Until { until: Timestamp, constraints: Vec<String> },
}

/// Why an answer does not fit its question.
#[derive(Debug, Error)]
pub(super) enum UnfitAnswer {
    #[error(
        "the gateway ended while the call was under way; answer with --happened JSON or \
         --not-happened, or end the run with `onecall approvals deny --give-up`"
    )]
    OutcomeUnknown,
    #[error("the call has not been sent yet; approve or deny it")]
    NotSent,
    #[error("'{0}' is not a constraint: write it as ARG=VALUE, ARG:=JSON, or ARG")]
    NotAConstraint(String),
    #[error("what follows '{0}:=' is not JSON")]
    NotJson(String),
    #[error("the call itself has {actual} as '{name}', not {wanted}")]
    ExcludesItself { name: String, actual: String, wanted: String },
    #[error("the call has no argument '{0}'")]
    NoSuchArgument(String),
}

impl ApproveArguments {
    /// The answer that the options stand for.
    pub(super) fn choice(&self) -> anyhow::Result<Choice> {
        let json = |text: &str, option: &str, advice: &str| {
            serde_json::from_str::<Value>(text)
                .with_context(|| format!("what follows {option} is not JSON{advice}"))
        };
        if let Some(result) = &self.happened {
            let advice = r#"; a text has quotation marks, as in '"done"'"#;
            return Ok(Choice::Happened { result: json(result, "--happened", advice)? });
        }
        if self.not_happened {
            return Ok(Choice::NotHappened);
        }
        let arguments = self.arguments.as_deref();
        let arguments = arguments.map(|text| json(text, "--arguments", "")).transpose()?;
        let is_object = arguments.as_ref().is_none_or(Value::is_object);
        ensure!(is_object, "what follows --arguments is not a JSON object");
        let reach = match self.until {
            Some(until) => {
                ensure!(until > Timestamp::now(), "--until is in the past: {until}");
                Reach::Until { until, constraints: self.constraints.clone() }
            }
            None if self.for_run => Reach::Run,
            None => Reach::Once,
        };
        Ok(Choice::Approve { reach, arguments })
    }
}

impl DenyArguments {
    /// The answer that the options stand for.
    pub(super) fn choice(&self) -> Choice {
        match self.give_up {
            true => Choice::GiveUp,
            false => Choice::Deny { reason: self.reason.clone() },
        }
    }
}

impl Choice {
    /// Whether the answer is about one call only.
    pub(super) fn is_for_one(&self) -> bool {
        matches!(self, Self::Approve { arguments: Some(_), .. } | Self::Happened { .. })
    }

    /// The verdict on this question.
    pub(super) fn verdict(&self, question: &ApprovalQuestion) -> Result<Verdict, UnfitAnswer> {
        match (self, question.kind) {
            (Self::Approve { reach, arguments }, QuestionKind::Approve) => {
                let scope = reach.scope(question, arguments.as_ref())?;
                Ok(Verdict::Approve { scope, arguments: arguments.clone() })
            }
            (Self::Deny { reason }, QuestionKind::Approve) => {
                Ok(Verdict::Deny { reason: reason.clone() })
            }
            (Self::Happened { result }, QuestionKind::Unknown) => {
                Ok(Verdict::Happened { result: result.clone() })
            }
            (Self::NotHappened, QuestionKind::Unknown) => Ok(Verdict::NotHappened),
            (Self::GiveUp, QuestionKind::Unknown) => Ok(Verdict::GiveUp),
            (_, QuestionKind::Unknown) => Err(UnfitAnswer::OutcomeUnknown),
            (_, QuestionKind::Approve) => Err(UnfitAnswer::NotSent),
        }
    }
}

impl Reach {
    /// How far an approval of this question reaches. `edited` are the arguments that the person gives the call.
    fn scope(
        &self,
        question: &ApprovalQuestion,
        edited: Option<&Value>,
    ) -> Result<ApprovalScope, UnfitAnswer> {
        let Self::Until { until, constraints } = self else {
            let is_run = matches!(self, Self::Run);
            return Ok(if is_run { ApprovalScope::Run } else { ApprovalScope::Once });
        };
        // Later calls are compared with the call that is approved.
        let arguments = match edited {
            Some(edited) => edited.as_object().cloned().unwrap_or_default(),
            None => serde_json::from_str(&question.arguments).unwrap_or_default(),
        };
        let mut map = Map::new();
        for word in constraints {
            let (name, wanted) = constraint(word, &arguments)?;
            map.insert(name, wanted);
        }
        Ok(ApprovalScope::Tool { constraints: map, until: until.0 })
    }
}

/// The name and the value of a constraint. A value without `:=` is text if the call has a text
/// there, and otherwise JSON where it is JSON.
fn constraint(word: &str, arguments: &Map<String, Value>) -> Result<(String, Value), UnfitAnswer> {
    let named = |name: &str| {
        let missing = || UnfitAnswer::NoSuchArgument(name.to_owned());
        arguments.get(name).ok_or_else(missing)
    };
    let (name, wanted) = match word.split_once('=') {
        None if word.is_empty() => return Err(UnfitAnswer::NotAConstraint(word.to_owned())),
        None => (word, named(word)?.clone()),
        Some((name, value)) => match name.strip_suffix(':') {
            Some(name) => {
                let value = serde_json::from_str(value);
                (name, value.map_err(|_| UnfitAnswer::NotJson(name.to_owned()))?)
            }
            None if arguments.get(name).is_some_and(Value::is_string) => (name, Value::from(value)),
            None => (name, serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))),
        },
    };
    if name.is_empty() {
        return Err(UnfitAnswer::NotAConstraint(word.to_owned()));
    }
    let actual = named(name)?;
    if *actual != wanted {
        let (actual, wanted) = (actual.to_string(), wanted.to_string());
        return Err(UnfitAnswer::ExcludesItself { name: name.to_owned(), actual, wanted });
    }
    Ok((name.to_owned(), wanted))
}

/// Parses a date, a date with a time, or a span of time from now on.
fn moment(text: &str) -> Result<Timestamp, String> {
    let span = parse_time_span(text).ok();
    let later = span.map(|span: Duration| Timestamp::now().after(span));
    later.or_else(|| Timestamp::parse(text)).ok_or_else(|| {
        "write a date such as 2026-12-31 or 2026-12-31T18:00:00Z, or a span such as 2h or 7d"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_constraint_has_the_type_of_the_argument() {
        let arguments = json!({ "id": "5", "count": 5, "tags": ["a"], "note": null });
        let arguments = arguments.as_object().unwrap();
        let read = |word: &str| constraint(word, arguments).map_err(|error| error.to_string());
        let rows = [
            ("id=5", Ok(("id", json!("5")))),
            ("count=5", Ok(("count", json!(5)))),
            ("tags:=[\"a\"]", Ok(("tags", json!(["a"])))),
            ("tags", Ok(("tags", json!(["a"])))),
            ("note=null", Ok(("note", json!(null)))),
            ("id:=5", Err("the call itself has \"5\" as 'id', not 5")),
            ("count=6", Err("the call itself has 5 as 'count', not 6")),
            ("other=1", Err("the call has no argument 'other'")),
            ("tags:=[", Err("what follows 'tags:=' is not JSON")),
            ("=1", Err("'=1' is not a constraint: write it as ARG=VALUE, ARG:=JSON, or ARG")),
            ("", Err("'' is not a constraint: write it as ARG=VALUE, ARG:=JSON, or ARG")),
        ];
        for (word, expected) in rows {
            let expected = expected
                .map(|(name, value)| (name.to_owned(), value))
                .map_err(|error: &str| error.to_owned());
            assert_eq!(read(word), expected, "{word}");
        }
    }

    #[test]
    fn a_constraint_is_about_the_arguments_that_are_approved() {
        let run = onecall_core::RunId::from_existing("r1");
        let question = ApprovalQuestion {
            item: onecall_core::ItemId::of(&run, 1),
            run,
            call: 1,
            kind: QuestionKind::Approve,
            name: onecall_core::CallableName::new("mcp__a__b"),
            line: None,
            arguments: r#"{"path":"/etc"}"#.to_owned(),
            rule: "rule".to_owned(),
            asked: Timestamp(0),
            expires: Timestamp(1),
            ways: Vec::new(),
        };
        let scope = |word: &str, edited: Option<Value>| {
            let constraints = vec![word.to_owned()];
            let reach = Reach::Until { until: Timestamp(5), constraints };
            match reach.scope(&question, edited.as_ref()) {
                Ok(ApprovalScope::Tool { constraints, .. }) => Ok(Value::Object(constraints)),
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error.to_string()),
            }
        };
        let edited = || Some(json!({ "path": "/tmp/x" }));
        assert_eq!(scope("path", None), Ok(json!({ "path": "/etc" })));
        assert_eq!(scope("path", edited()), Ok(json!({ "path": "/tmp/x" })));
        assert_eq!(scope("path=/tmp/x", edited()), Ok(json!({ "path": "/tmp/x" })));
        let excluded = "the call itself has \"/tmp/x\" as 'path', not \"/etc\"";
        assert_eq!(scope("path=/etc", edited()), Err(excluded.to_owned()));
        let missing = "the call has no argument 'path'";
        assert_eq!(scope("path", Some(json!({ "other": 1 }))), Err(missing.to_owned()));
    }

    #[test]
    fn a_moment_is_a_date_or_a_span() {
        let day = moment("2026-12-31").unwrap();
        assert_eq!(day.to_string(), "2027-01-01T00:00:00Z");
        let exact = moment("2026-12-31T18:00:00+01:00").unwrap();
        assert_eq!(exact.to_string(), "2026-12-31T17:00:00Z");
        let later = moment("7d").unwrap().since(Timestamp::now());
        assert!(later > Duration::from_secs(7 * 86_400 - 60), "{later:?}");
        for wrong in ["", "tomorrow", "2026-13-01", "31.12.2026"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
