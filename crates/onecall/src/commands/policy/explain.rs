//! `onecall policy explain`: shows how a call would be decided, and why: by the tools that the configuration
//! permits, pins, policies and the rules of `approvals`.

use std::process::ExitCode;

use onecall_core::text::shell_word;
use onecall_core::{AskRule, Decision, DenyRule, PolicyRule, ToolSpec};
use onecall_gateway::{CallExplanation, Refresh};
use onecall_policy::{ExplainedPolicy, PolicyEffect, PolicyResult};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::ExplainArguments;
use super::cases::{find_tool, principal, run};
use super::counted;
use super::known::refreshed;
use crate::cli::Global;
use crate::commands::call::{arguments, json_arguments};
use crate::commands::{note, say};
use crate::setup;
use crate::terminal::print;

/// How many policies that do not cover the call are listed.
const MAX_LISTED: usize = 20;

/// Explains the decision about a call.
pub(super) fn explain(given: &ExplainArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let run = run(principal(&given.user, &given.groups)?, &given.client, Some(&given.kind))?;
    let loaded = setup::load(global)?;
    let explained = setup::tokio_runtime()?.block_on(async {
        let gateway = setup::gateway_on_demand(loaded)?;
        let known = refreshed(&gateway, Refresh::Unknown).await;
        let warnings = gateway.policy_warnings(&known);
        warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
        let explained = find_tool(&given.tool, &known.all_tools()).map(|tool| {
            let arguments = read_arguments(&given.arguments, &tool.input_schema.value())?;
            let explanation = gateway.explain_call(run, &tool, &known, &arguments);
            anyhow::Ok((explanation, tool))
        });
        gateway.shutdown().await;
        anyhow::Ok(explained)
    })?;
    let (explanation, tool) = match explained {
        Ok(explained) => explained?,
        Err(message) => {
            say(&format!("error: {message}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    print(&match given.json {
        true => format!("{:#}\n", as_json(&explanation, &tool)),
        false => as_text(&explanation, &given.user, &tool),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn read_arguments(given: &[String], schema: &Value) -> anyhow::Result<Box<RawValue>> {
    match given {
        [object] if object.starts_with(['{', '@']) || object == "-" => json_arguments(object),
        words => Ok(to_raw_value(&arguments::read(words, schema)?)?),
    }
}

/// A decision: its word, the rule behind it, and what the rule says to people.
struct ExplainedDecision<'a> {
    word: &'static str,
    rule: Option<String>,
    reason: Option<&'a str>,
    /// The rule and its reason in a sentence.
    why: String,
}

impl<'a> ExplainedDecision<'a> {
    fn of(explanation: &'a CallExplanation, tool: &ToolSpec) -> Self {
        let by_policy = |word, rule: &'a PolicyRule| Self {
            word,
            rule: Some(rule.name.clone()),
            reason: rule.reason.as_deref(),
            why: rule.to_string(),
        };
        match &explanation.decision {
            Decision::Allow => match &explanation.permitted_by {
                Some(rule) => by_policy("allow", rule),
                None => Self {
                    word: "allow",
                    rule: None,
                    reason: None,
                    why: "nothing forbids it".to_owned(),
                },
            },
            Decision::Ask(AskRule::Policy(rule)) => by_policy("ask", rule),
            Decision::Ask(rule) => {
                Self { word: "ask", rule: Some(rule.name()), reason: None, why: rule.name() }
            }
            Decision::Deny(DenyRule::Policy(rule)) => by_policy("deny", rule),
            Decision::Deny(rule) => Self {
                word: "deny",
                rule: Some(rule.name().into_owned()),
                reason: None,
                why: match rule {
                    DenyRule::ToolLists => "`tools` in the configuration excludes it".to_owned(),
                    DenyRule::Pins => format!(
                        "it is not as it was pinned; `onecall pin {}` shows the difference",
                        shell_word(tool.server.as_str())
                    ),
                    _ => "no program can call it".to_owned(),
                },
            },
        }
    }
}

fn as_text(explanation: &CallExplanation, user: &str, tool: &ToolSpec) -> String {
    let decision = ExplainedDecision::of(explanation, tool);
    let decided = match decision.word {
        "allow" => "may call",
        "ask" => "may call, after an approval,",
        _ => "may not call",
    };
    let mut text = format!("{user} {decided} {}: {}\n", tool.callable, decision.why);
    let with = |wanted: fn(&PolicyResult) -> bool| {
        explanation.policies.iter().filter(move |policy| wanted(&policy.result))
    };
    for policy in with(|result| matches!(result, PolicyResult::Satisfied)) {
        text.push_str(&format!("\n{}\n{}", heading(policy, effect(policy)), source(policy)));
    }
    for policy in with(|result| matches!(result, PolicyResult::Failed(_))) {
        if let PolicyResult::Failed(why) = &policy.result {
            let what = format!("cannot be evaluated: {why}");
            text.push_str(&format!("\n{}\n{}", heading(policy, &what), source(policy)));
        }
    }
    for policy in with(|result| matches!(result, PolicyResult::ConditionFalse)) {
        let what = "covers the call, but its condition is not satisfied";
        text.push_str(&format!("\n{}\n{}", heading(policy, what), source(policy)));
    }
    let others: Vec<_> = with(|result| matches!(result, PolicyResult::NotCovered(_))).collect();
    if !others.is_empty() {
        let count = counted(others.len(), "other policy does", "other policies do");
        text.push_str(&format!("\n{count} not cover the call\n"));
    }
    for policy in others.iter().take(MAX_LISTED) {
        if let PolicyResult::NotCovered(why) = &policy.result {
            text.push_str(&format!("  {}: {why}\n", policy.name));
        }
    }
    if others.len() > MAX_LISTED {
        text.push_str(&format!("  and {} more\n", others.len() - MAX_LISTED));
    }
    text
}

/// The name of a policy, its place if the name does not say it, and what came of it.
fn heading(policy: &ExplainedPolicy, what: &str) -> String {
    let place = format!("{}:{}", policy.file, policy.line);
    match policy.name.starts_with(&place) {
        true => format!("{} {what}", policy.name),
        false => format!("{} ({place}) {what}", policy.name),
    }
}

fn effect(policy: &ExplainedPolicy) -> &'static str {
    match policy.effect {
        PolicyEffect::Permit => "permits it",
        PolicyEffect::Forbid => "forbids it",
        PolicyEffect::Ask => "has a person asked",
    }
}

fn source(policy: &ExplainedPolicy) -> String {
    policy.text.lines().map(|line| format!("  {line}\n")).collect()
}

fn as_json(explanation: &CallExplanation, tool: &ToolSpec) -> Value {
    let policy = |policy: &ExplainedPolicy| {
        let (result, why) = match &policy.result {
            PolicyResult::Satisfied => ("satisfied", None),
            PolicyResult::ConditionFalse => ("condition_false", None),
            PolicyResult::Failed(why) => ("failed", Some(why)),
            PolicyResult::NotCovered(why) => ("not_covered", Some(why)),
        };
        let effect = match policy.effect {
            PolicyEffect::Permit => "permit",
            PolicyEffect::Forbid => "forbid",
            PolicyEffect::Ask => "ask",
        };
        json!({
            "name": policy.name, "file": policy.file, "line": policy.line, "effect": effect,
            "result": result, "why": why, "text": policy.text,
        })
    };
    let decision = ExplainedDecision::of(explanation, tool);
    json!({
        "decision": decision.word,
        "rule": decision.rule,
        "reason": decision.reason,
        "policies": explanation.policies.iter().map(policy).collect::<Vec<_>>(),
    })
}
