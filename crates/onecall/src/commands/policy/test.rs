//! `onecall policy test`: compares the decisions about the calls in a file with what it expects.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use onecall_core::{AccessDecision, AccessPolicy, AccessRequest, PolicyRule};
use onecall_policy::{Policies, PolicySource};

use super::cases::{Case, Expected, TestFile, find_tool, principal, run};
use super::counted;
use super::known::{Freshness, KnownServers, configured, known_servers};
use crate::cli::Global;
use crate::commands::run::read;
use crate::terminal::print;
use crate::{commands::note, setup};

/// Tests the policies and prints what is not as expected.
pub(super) fn test(path: &Path, global: &Global) -> anyhow::Result<ExitCode> {
    let text = read(path, "test file")?;
    let mut file =
        TestFile::parse(&text).with_context(|| format!("{} cannot be used", path.display()))?;
    let (policy, mut known) = match &file.policy {
        Some(policy) => {
            let folder = path.parent().unwrap_or(Path::new(""));
            (folder.join(policy), servers_if_configured(global)?)
        }
        None => configured(global, Freshness::Offline)?,
    };
    let defined = file.defined_tools();
    known.tools.retain(|spec| defined.iter().all(|it| it.server != spec.server));
    for spec in defined {
        if !known.servers.contains(&spec.server) {
            known.servers.push(spec.server.clone());
        }
        known.tools.push(spec);
    }
    let (policies, warnings) = load(&policy, &known)?;
    warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    let mut failures = 0;
    for case in &file.cases {
        if let Err(failure) = check(case, &policies, &known) {
            failures += 1;
            let name = case.fields.name.as_deref().map(|name| format!(" ({name})"));
            let name = name.unwrap_or_default();
            print(&format!("line {}{name}: {failure:#}\n", case.line))?;
        }
    }
    let cases = counted(file.cases.len(), "case", "cases");
    print(&match failures {
        0 => format!("{cases}: all decisions are as expected\n"),
        _ => format!("{cases}: {} not as expected\n", counted(failures, "is", "are")),
    })?;
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The servers of the configuration, if there is one.
fn servers_if_configured(global: &Global) -> anyhow::Result<KnownServers> {
    match setup::is_configured(global) {
        true => known_servers(setup::load(global)?, Freshness::Offline),
        false => Ok(KnownServers::default()),
    }
}

/// Loads the policies that are tested.
fn load(
    path: &Path,
    known: &KnownServers,
) -> anyhow::Result<(Policies, Vec<onecall_policy::PolicyWarning>)> {
    let loaded = PolicySource::load(path)
        .and_then(|source| Policies::new(source, &known.servers, &known.tools));
    loaded.with_context(|| format!("the policies in {} cannot be used", path.display()))
}

fn check(case: &Case, policies: &Policies, known: &KnownServers) -> anyhow::Result<()> {
    let fields = &case.fields;
    let tool = find_tool(&fields.tool, &known.tools).map_err(anyhow::Error::msg)?;
    let run =
        run(principal(&fields.user, &fields.groups)?, &fields.client, fields.kind.as_deref())?;
    let arguments = fields.raw_arguments()?;
    let request = AccessRequest { run: &run, tool: &tool, arguments: &arguments };
    let decision = policies.decide(&request);
    let (decided, rule) = word(&decision);
    let expected = match fields.expect {
        Expected::Allow => "allow",
        Expected::Deny => "deny",
        Expected::Ask => "ask",
    };
    let call = format!("{} calls {}", fields.user, tool.callable);
    ensure!(decided == expected, "{call}: expected {expected}, but it is {decided} by {rule}");
    if let Some(expected) = &fields.rule {
        ensure!(
            rule.name == *expected,
            "{call}: expected {decided} by policy {expected}, but it is by {rule}"
        );
    }
    Ok(())
}

/// The decision in one word, and its rule.
fn word(decision: &AccessDecision) -> (&'static str, &PolicyRule) {
    match decision {
        AccessDecision::Allow(rule) => ("allow", rule),
        AccessDecision::Deny(rule) => ("deny", rule),
        AccessDecision::Ask(rule) => ("ask", rule),
    }
}
