//! Checks the sandbox: what it keeps programs from, and by which walls. A worker of every engine
//! tests each of them.

use std::time::Duration;

use onecall_config::{Config, SandboxMode};
use onecall_engine::{Property, SandboxReport};
use serde_json::{Map, Value, json};

use super::engines::TestedEngine;
use super::finding::{Finding, ReportSection, Verdict, milliseconds};
use crate::setup;

pub(super) fn check(config: &Config, tested: &[TestedEngine]) -> ReportSection {
    let mut findings = vec![mode_finding(config, tested)];
    if config.sandbox != SandboxMode::Off {
        for engine in tested {
            if let Some(error) =
                engine.sandbox_report.as_ref().err().filter(|_| engine.is_installed())
            {
                let name = format!("for {}", engine.title());
                findings.push(Finding::from_message(
                    engine.severity_if_missing(config),
                    name,
                    &error.to_string(),
                ));
            }
        }
        findings.extend(Property::ALL.map(|property| property_finding(property, config, tested)));
        findings.push(walls_finding(tested));
    }
    ReportSection { name: "sandbox", findings }
}

fn mode_finding(config: &Config, tested: &[TestedEngine]) -> Finding {
    let sandbox = config.sandbox;
    let name =
        SandboxMode::NAMES.iter().find(|(_, known)| *known == sandbox).map(|(name, _)| *name);
    let without: Vec<&str> = config.sandbox_without.iter().map(|it| it.name()).collect();
    let finding = match sandbox {
        SandboxMode::Required if without.is_empty() => {
            Finding::green("mode", "required: every property below has to hold")
        }
        SandboxMode::Required => {
            let but = without.join(", ");
            Finding::green("mode", format!("required: every property below has to hold, but {but}"))
        }
        SandboxMode::BestEffort => {
            let floor = Property::MINIMUM.map(Property::name).join(", ");
            Finding::green(
                "mode",
                format!("best-effort: of the properties below {floor} have to hold"),
            )
        }
        SandboxMode::Off => {
            Finding::yellow("mode", "off: programs run without a sandbox; only their limits apply")
                .fix("set `sandbox: required`")
        }
    };
    let took = tested.iter().map(|engine| engine.took).sum();
    finding.took(took).fact("sandbox", name).fact("without", without)
}

fn sandbox_reports(
    tested: &[TestedEngine],
) -> impl Iterator<Item = (&'static str, &SandboxReport)> {
    tested.iter().filter_map(|engine| Some((engine.title(), engine.sandbox_report.as_ref().ok()?)))
}

/// One property on all engines; the worst result counts.
fn property_finding(property: Property, config: &Config, tested: &[TestedEngine]) -> Finding {
    let requirement = setup::requirement(config);
    let verdict = if requirement.demands(property) { Verdict::Red } else { Verdict::Yellow };
    let mut walls: Vec<&str> = Vec::new();
    let mut attempts: Vec<&str> = Vec::new();
    let mut troubles: Vec<String> = Vec::new();
    let mut engines = Map::new();
    for (title, report) in sandbox_reports(tested) {
        let holders: Vec<&str> = report.holders(property).into_iter().flatten().copied().collect();
        let tried: Vec<&str> =
            report.attempts_at(property).map(|attempt| attempt.tried.as_str()).collect();
        let fault = report.fault(property);
        let described = json!({ "holds": fault.is_none(), "held_by": holders, "tried": tried });
        engines.insert(title.to_owned(), described);
        add_new(&mut walls, &holders);
        add_new(&mut attempts, &tried);
        troubles.extend(fault.map(|fault| format!("not on {title}: {fault}")));
    }
    let mut troubles = troubles.into_iter();
    let finding = match troubles.next() {
        None if engines.is_empty() => {
            Finding::yellow(property.name(), "no engine could run the check")
        }
        None => {
            let (walls, attempts) = (walls.join(", "), attempts.join(", "));
            Finding::green(property.name(), format!("held by {walls} (blocked: {attempts})"))
        }
        Some(trouble) => {
            let finding = Finding::from_message(verdict, property.name(), &trouble);
            troubles.fold(finding, |finding, trouble| finding.note(trouble))
        }
    };
    finding.fact("keeps_from", property.prevented_actions()).fact("engines", Value::Object(engines))
}

fn add_new<'a>(known: &mut Vec<&'a str>, more: &[&'a str]) {
    for name in more {
        if !known.contains(name) {
            known.push(name);
        }
    }
}

/// Which walls exist. A missing one is not an error if others ensure its properties.
fn walls_finding(tested: &[TestedEngine]) -> Finding {
    let mut standing: Vec<&str> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    let mut engines = Map::new();
    let mut slowest = Duration::ZERO;
    for (title, report) in sandbox_reports(tested) {
        let mut described = Map::new();
        for wall in &report.walls {
            let state = json!({
                "stands": wall.missing.is_none(), "milliseconds": milliseconds(wall.cost),
            });
            described.insert(wall.name.clone(), state);
            match &wall.missing {
                None => add_new(&mut standing, &[wall.name.as_str()]),
                Some(why) => missing.push(format!("{} is missing for {title}: {why}", wall.name)),
            }
        }
        slowest = slowest.max(report.walls.iter().map(|wall| wall.cost).sum());
        engines.insert(title.to_owned(), Value::Object(described));
    }
    let finding = match missing.is_empty() {
        true => Finding::green("walls", standing.join(", ")),
        false => Finding::yellow("walls", format!("only {}", standing.join(", "))),
    };
    let finding = missing.into_iter().fold(finding, Finding::note);
    finding.took(slowest).fact("engines", Value::Object(engines))
}
