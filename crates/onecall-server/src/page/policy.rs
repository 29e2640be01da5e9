//! How the policies decide about a call, and why.

use std::sync::Arc;

use maud::{Markup, html};
use onecall_core::{AccessDecision, Principal, UserName};
use onecall_policy::{ExplainedPolicy, Explanation, PolicyEffect, PolicyResult};
use serde_json::value::RawValue;

use super::context::PageContext;
use super::error::PageError;
use super::reply::PageAnswer;
use super::text;

/// How many policies are shown, and how much of each.
const MAX_POLICIES: usize = 60;
const MAX_TEXT: usize = 4_000;

pub(super) async fn page(context: &Arc<PageContext>) -> Result<PageAnswer, PageError> {
    if !context.gateway.has_policies() {
        return Err(PageError::NotFound);
    }
    let explained = match context.query.get("tool") {
        Some(tool) => Some(explain(context, tool).await),
        None => None,
    };
    let query = &context.query;
    let value = |name: &str| query.get(name).unwrap_or_default();
    let body = html! {
        p { "How would a call be decided? Nothing is called." }
        form.filters method="get" {
            label { "Tool" input name="tool" required value=(value("tool")) maxlength="200" placeholder="mcp__server__tool"; }
            @if context.sees_everyone() {
                label { "User" input name="user" value=(value("user")) maxlength="200" placeholder=(context.viewer.principal.user); }
                label { "Groups" input name="groups" value=(value("groups")) maxlength="400" placeholder="sales, admin"; }
            }
            label.grow { "Arguments" input.code name="arguments" value=(value("arguments")) placeholder="{\"id\": 7}"; }
            span.actions { button type="submit" { "Explain" } }
        }
        @match explained {
            None => {},
            Some(Err(problem)) => p.problem role="alert" { (problem) },
            Some(Ok(explanation)) => (explanation_text(context, &explanation)),
        }
    };
    Ok(PageAnswer::page("Policy", body))
}

async fn explain(context: &PageContext, tool: &str) -> Result<Explanation, String> {
    let known = context.gateway.last_known_tools().await;
    let tools = known.all_tools();
    let spec = tools.iter().find(|spec| spec.callable.as_str() == tool);
    let spec = spec.ok_or_else(|| format!("there is no tool '{}'", text::line(tool, 120)))?;
    let arguments = context.query.get("arguments").unwrap_or("{}");
    let arguments = RawValue::from_string(arguments.to_owned());
    let arguments = arguments.map_err(|error| format!("the arguments are not JSON: {error}"))?;
    let mut principal = (*context.viewer.principal).clone();
    if context.sees_everyone() {
        if let Some(user) = context.query.get("user") {
            let user = UserName::parse(user).map_err(|error| error.to_string())?;
            principal = Principal { user, groups: Default::default() };
        }
        let groups = context.query.get("groups").unwrap_or_default().split(',').map(str::trim);
        principal.groups.extend(groups.filter(|group| !group.is_empty()).map(str::to_owned));
    }
    let explained = context.gateway.explain_call(principal, spec, &arguments);
    explained.ok_or_else(|| "there are no policies".to_owned())
}

fn explanation_text(context: &PageContext, explanation: &Explanation) -> Markup {
    let (class, word, rule) = match &explanation.decision {
        AccessDecision::Allow(rule) => ("tag good", "allowed", rule),
        AccessDecision::Deny(rule) => ("tag bad", "denied", rule),
        AccessDecision::Ask(rule) => ("tag wait", "a person is asked", rule),
    };
    let mut policies: Vec<&ExplainedPolicy> = explanation.policies.iter().collect();
    policies.sort_by_key(|policy| match policy.result {
        PolicyResult::Satisfied => 0,
        PolicyResult::Failed(_) => 1,
        PolicyResult::ConditionFalse => 2,
        PolicyResult::NotCovered(_) => 3,
    });
    html! {
        p.decision role="status" { span class=(class) { (word) } " because of " (text::line(&context.redacted(&rule.to_string()), 400)) }
        @for policy in policies.iter().take(MAX_POLICIES) {
            details open[matches!(policy.result, PolicyResult::Satisfied)] {
                summary { code { (text::line(&policy.name, 100)) } " " (result(policy)) }
                @if policy.name != format!("{}:{}", policy.file, policy.line) { p.muted { (text::line(&policy.file, 200)) ":" (policy.line) } }
                pre.output tabindex="0" { (text::block(&context.redacted(&policy.text), MAX_TEXT)) }
            }
        }
        @if policies.len() > MAX_POLICIES { p.muted { "and " (policies.len() - MAX_POLICIES) " more policies" } }
    }
}

fn result(policy: &ExplainedPolicy) -> String {
    match &policy.result {
        PolicyResult::Satisfied => match policy.effect {
            PolicyEffect::Permit => "permits it".to_owned(),
            PolicyEffect::Forbid => "forbids it".to_owned(),
            PolicyEffect::Ask => "has a person asked".to_owned(),
        },
        PolicyResult::ConditionFalse => {
            "covers the call, but its condition is not satisfied".to_owned()
        }
        PolicyResult::Failed(why) => format!("cannot be evaluated: {}", text::line(why, 300)),
        PolicyResult::NotCovered(why) => {
            format!("does not cover the call: {}", text::line(why, 300))
        }
    }
}
