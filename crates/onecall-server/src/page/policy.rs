//! How calls are decided, and why: by the lists of the configuration, the policies and the rules of
//! `approvals`.

use std::sync::Arc;

use maud::{Markup, html};
use onecall_core::{Decision, DenyRule, Principal, RunKind, UserName};
use onecall_gateway::{CallExplanation, explained_run};
use onecall_policy::{ExplainedPolicy, ListedPolicy, PolicyEffect, PolicyResult};
use serde_json::value::RawValue;

use super::context::PageContext;
use super::error::PageError;
use super::reply::PageAnswer;
use super::room::{excerpt, fill};
use super::routes::blocking;
use super::text;

/// How much of a page the policies take together, and the text of each, in bytes.
const POLICIES_SIZE: usize = 50_000;
const POLICY_SIZE: usize = 8_000;

pub(super) async fn page(context: &Arc<PageContext>) -> Result<PageAnswer, PageError> {
    if !is_shown(context) {
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
                label { "Groups" input name="groups" value=(value("groups")) maxlength="400" placeholder="those of the user"; }
            }
            label { "Client" input name="client" value=(value("client")) maxlength="200" placeholder="any"; }
            label.grow { "Arguments" input.code name="arguments" value=(value("arguments")) placeholder="{\"id\": 7}"; }
            span.actions { button type="submit" { "Explain" } }
        }
        @match explained {
            None => (listed(context)),
            Some(Err(problem)) => { p.problem role="alert" { (problem) } (listed(context)) },
            Some(Ok(explanation)) => (explanation_text(context, &explanation)),
        }
    };
    Ok(PageAnswer::page("Policy", body))
}

/// Whether there is something that decides about calls.
pub(super) fn is_shown(context: &PageContext) -> bool {
    context.gateway.has_policies() || context.gateway.approvals().is_some()
}

/// All policies as a file.
pub(super) fn file(context: &PageContext) -> Result<PageAnswer, PageError> {
    let policies = context.gateway.listed_policies();
    if policies.is_empty() {
        return Err(PageError::NotFound);
    }
    let with_place = |policy: &ListedPolicy| {
        format!("// {}:{}\n{}\n", policy.file, policy.line, context.redacted(&policy.text))
    };
    let content = policies.iter().map(with_place).collect::<Vec<_>>().join("\n");
    let name = "policies.txt".to_owned();
    Ok(PageAnswer::File { kind: "text/plain; charset=utf-8", name, content })
}

/// The policies that are in force, and what needs an approval.
fn listed(context: &PageContext) -> Markup {
    let policies = context.gateway.listed_policies();
    let shown = fill(&policies, POLICIES_SIZE, |policy| {
        policy_text(context, &policy.name, (&policy.file, policy.line), &policy.text, None)
    });
    let ask = context.gateway.approvals().map(|approvals| approvals.policy()).unwrap_or_default();
    html! {
        section { h2 { "Policies in force" }
            @if policies.is_empty() { p.muted { "There are none: every tool that the configuration permits may be called." } }
            (shown.markup)
            (rest(policies.len() - shown.count))
        }
        @if !ask.is_empty() {
            section { h2 { "Calls that need an approval" }
                ul.plain {
                    @for pattern in &ask.patterns { li { code { "approvals.ask: " (text::line(pattern.as_str(), 200)) } } }
                    @for hint in &ask.hints { li { code { "approvals.hints: " (hint.name()) } } }
                }
            }
        }
    }
}

/// How many policies are not shown, with a link to all.
fn rest(count: usize) -> Markup {
    html! {
        @if count > 0 {
            p { "and " (text::count(u64::try_from(count).unwrap_or(u64::MAX), "more policy", "more policies"))
                ": " a href="/page/policy/policies.txt" { "all policies as a file" } }
        }
    }
}

/// A policy; `result` says what came of it for a call.
fn policy_text(
    context: &PageContext,
    name: &str,
    (file, line): (&str, usize),
    policy: &str,
    result: Option<&ExplainedPolicy>,
) -> Markup {
    let is_open = result.is_some_and(|it| matches!(it.result, PolicyResult::Satisfied));
    let shown = excerpt(&context.redacted(policy), POLICY_SIZE);
    html! {
        details open[is_open] {
            summary { code { (text::line(name, 100)) } @if let Some(result) = result { " " (result_text(result)) } }
            @if name != format!("{file}:{line}") { p.muted { (text::line(file, 200)) ":" (line) } }
            pre.output tabindex="0" { (shown.text) }
            @if shown.is_cut { p { a href="/page/policy/policies.txt" { "All policies as a file" } } }
        }
    }
}

async fn explain(context: &Arc<PageContext>, tool: &str) -> Result<CallExplanation, String> {
    let known = context.gateway.last_known_tools().await;
    let tools = known.all_tools();
    let spec = tools.iter().find(|spec| spec.callable.as_str() == tool);
    let spec = spec.ok_or_else(|| format!("there is no tool '{}'", text::line(tool, 120)))?;
    let arguments = context.query.get("arguments").unwrap_or("{}");
    let arguments = RawValue::from_string(arguments.to_owned());
    let arguments = arguments.map_err(|error| format!("the arguments are not JSON: {error}"))?;
    let principal = principal(context).await?;
    let client = context.query.get("client").unwrap_or_default();
    let run = explained_run(principal, client, RunKind::Program);
    Ok(context.gateway.explain_call(run, spec, &known, &arguments))
}

/// The person whose call is explained. An administrator may choose another user, and other groups than this user has.
async fn principal(context: &Arc<PageContext>) -> Result<Principal, String> {
    let own = (*context.viewer.principal).clone();
    if !context.sees_everyone() {
        return Ok(own);
    }
    let mut principal = match context.query.get("user") {
        None => own,
        Some(user) => {
            let user = UserName::parse(user).map_err(|error| error.to_string())?;
            Principal { user, groups: Default::default() }
        }
    };
    let groups = context.query.get("groups").unwrap_or_default().split(',').map(str::trim);
    let groups: Vec<_> = groups.filter(|group| !group.is_empty()).map(str::to_owned).collect();
    if groups.is_empty() && principal.user != context.viewer.principal.user {
        let user = principal.user.clone();
        let stored = blocking(context, move |context| Ok(context.store.user(&user)?)).await;
        let stored = stored.map_err(|error| error.to_string())?;
        principal
            .groups
            .extend(stored.into_iter().flat_map(|user| &user.groups | &user.provider_groups));
    }
    principal.groups.extend(groups);
    Ok(principal)
}

fn explanation_text(context: &PageContext, explanation: &CallExplanation) -> Markup {
    let (class, word, why) = decision_text(explanation);
    let mut policies: Vec<&ExplainedPolicy> = explanation.policies.iter().collect();
    policies.sort_by_key(|policy| match policy.result {
        PolicyResult::Satisfied => 0,
        PolicyResult::Failed(_) => 1,
        PolicyResult::ConditionFalse => 2,
        PolicyResult::NotCovered(_) => 3,
    });
    let shown = fill(&policies, POLICIES_SIZE, |policy| {
        let place = (policy.file.as_str(), policy.line);
        policy_text(context, &policy.name, place, &policy.text, Some(policy))
    });
    html! {
        p.decision role="status" { span class=(class) { (word) } " " (text::line(&context.redacted(&why), 400)) }
        (shown.markup)
        (rest(policies.len() - shown.count))
        p { a href="/page/policy" { "All policies" } }
    }
}

/// A decision: the class of its word, the word, and why.
fn decision_text(explanation: &CallExplanation) -> (&'static str, &'static str, String) {
    match &explanation.decision {
        Decision::Allow => {
            let rule = explanation.permitted_by.as_ref().map(|rule| format!("because of {rule}"));
            let why = rule.unwrap_or_else(|| "because nothing forbids it".to_owned());
            ("tag good", "allowed", why)
        }
        Decision::Ask(rule) => {
            ("tag wait", "a person is asked", format!("because of {}", rule.name()))
        }
        Decision::Deny(rule) => {
            let why = match rule {
                DenyRule::Policy(rule) => format!("because of {rule}"),
                DenyRule::ToolLists => {
                    "because the tools that the configuration permits do not have it".to_owned()
                }
                DenyRule::Pins => {
                    "because the tool is not as it was pinned: the page Servers shows the difference"
                        .to_owned()
                }
                DenyRule::NoTool => "because no program can call it".to_owned(),
            };
            ("tag bad", "denied", why)
        }
    }
}

fn result_text(policy: &ExplainedPolicy) -> String {
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
