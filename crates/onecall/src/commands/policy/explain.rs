//! `onecall policy explain`: shows how a call would be decided, and why.

use std::process::ExitCode;

use onecall_core::AccessRequest;
use onecall_policy::{ExplainedPolicy, Explanation, PolicyEffect, PolicyResult};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::ExplainArguments;
use super::cases::{find_tool, principal, run};
use super::counted;
use super::known::{Freshness, configured};
use super::test::{load, word};
use crate::cli::Global;
use crate::commands::call::{arguments, json_arguments};
use crate::commands::{note, say};
use crate::terminal::print;

/// How many policies that do not cover the call are listed.
const MAX_LISTED: usize = 20;

/// Explains the decision about a call.
pub(super) fn explain(given: &ExplainArguments, global: &Global) -> anyhow::Result<ExitCode> {
    let run = run(principal(&given.user, &given.groups)?, &given.client, Some(&given.kind))?;
    let (path, known) = configured(global, Freshness::Known)?;
    let (policies, warnings) = load(&path, &known)?;
    warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    let tool = match find_tool(&given.tool, &known.tools) {
        Ok(tool) => tool,
        Err(message) => {
            say(&format!("error: {message}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    let arguments: Box<RawValue> = match given.arguments.as_slice() {
        [object] if object.starts_with(['{', '@']) || object == "-" => json_arguments(object)?,
        words => to_raw_value(&arguments::read(words, &tool.input_schema.value())?)?,
    };
    let request = AccessRequest { run: &run, tool: &tool, arguments: &arguments };
    let explanation = policies.explain(&request);
    print(&match given.json {
        true => format!("{:#}\n", as_json(&explanation)),
        false => as_text(&explanation, &given.user, tool.callable.as_str()),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(explanation: &Explanation, user: &str, tool: &str) -> String {
    let (decision, rule) = word(&explanation.decision);
    let decided = match decision {
        "allow" => "may call",
        "ask" => "may call, after an approval,",
        _ => "may not call",
    };
    let mut text = format!("{user} {decided} {tool}: {rule}\n");
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

fn as_json(explanation: &Explanation) -> Value {
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
    let (decision, rule) = word(&explanation.decision);
    json!({
        "decision": decision,
        "rule": rule.name,
        "reason": rule.reason,
        "policies": explanation.policies.iter().map(policy).collect::<Vec<_>>(),
    })
}
