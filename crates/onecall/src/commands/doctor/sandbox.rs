//! The walls of the sandbox, each tried by a worker of every engine.

use onecall_config::Sandbox;
use onecall_engine::{Examination, ExaminedWall};
use serde_json::{Map, Value, json};

use super::engines::Tested;
use super::finding::{Finding, Section, Verdict, milliseconds};

pub(super) fn look(sandbox: Sandbox, tested: &[Tested]) -> Section {
    let mut findings = vec![mode(sandbox, tested)];
    if sandbox != Sandbox::Off {
        for engine in tested {
            if let Some(error) = engine.examined.as_ref().err().filter(|_| engine.is_there()) {
                let name = format!("for {}", engine.title);
                findings.push(Finding::told(Verdict::Red, name, &error.to_string()));
            }
        }
        findings.extend(names(tested).iter().map(|name| wall(name, sandbox, tested)));
    }
    Section { name: "sandbox", findings }
}

fn mode(sandbox: Sandbox, tested: &[Tested]) -> Finding {
    let name = Sandbox::NAMES.iter().find(|(_, known)| *known == sandbox).map(|(name, _)| *name);
    let finding = match sandbox {
        Sandbox::Required => Finding::green("mode", "required: no wall may be missing"),
        Sandbox::BestEffort => {
            Finding::green("mode", "best-effort: programs run behind the walls there are")
        }
        Sandbox::Off => {
            Finding::yellow("mode", "off: programs run without walls; only their limits hold")
                .fix("set `sandbox: required`")
        }
    };
    let took = tested.iter().map(|engine| engine.took).sum();
    finding.took(took).fact("sandbox", name)
}

/// Every wall that some engine has, in the order of building.
fn names(tested: &[Tested]) -> Vec<&str> {
    let mut names = Vec::new();
    for (_, examination) in examinations(tested) {
        for wall in &examination.walls {
            if !names.contains(&wall.name.as_str()) {
                names.push(&wall.name);
            }
        }
    }
    names
}

fn examinations(tested: &[Tested]) -> impl Iterator<Item = (&'static str, &Examination)> {
    tested.iter().filter_map(|engine| Some((engine.title, engine.examined.as_ref().ok()?)))
}

/// One wall of all engines; how it is where it is worst.
fn wall(name: &str, sandbox: Sandbox, tested: &[Tested]) -> Finding {
    let mut attempts: Vec<&str> = Vec::new();
    let mut troubles: Vec<(Verdict, String)> = Vec::new();
    let mut engines = Map::new();
    let mut slowest = std::time::Duration::ZERO;
    for (title, examination) in examinations(tested) {
        let Some(wall) = examination.walls.iter().find(|wall| wall.name == name) else { continue };
        slowest = slowest.max(wall.cost);
        let state = state(wall, examination);
        let tried = examination.attempts.iter().filter(|attempt| attempt.wall == name);
        let tried: Vec<&str> = tried.map(|attempt| attempt.tried.as_str()).collect();
        let described = json!({
            "state": state.name(), "tried": tried, "milliseconds": milliseconds(wall.cost),
        });
        engines.insert(title.to_owned(), described);
        attempts.extend(tried.iter().filter(|it| !attempts.contains(it)).collect::<Vec<_>>());
        match (state, sandbox) {
            (State::Holds, _) => {}
            (State::Missing(why), Sandbox::Required) => {
                troubles.push((Verdict::Red, format!("missing for {title}: {why}")));
            }
            (State::Missing(why), _) => {
                troubles.push((Verdict::Yellow, format!("missing for {title}: {why}")));
            }
            (State::Broken(how), _) => {
                troubles.push((Verdict::Red, format!("does not hold for {title}: {how}")));
            }
        }
    }
    // The worst first, and the rest below it.
    troubles.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
    let mut troubles = troubles.into_iter();
    let finding = match troubles.next() {
        None => Finding::green(name, format!("holds; tried in vain: {}", attempts.join(", "))),
        Some((verdict, trouble)) => Finding::told(verdict, name, &trouble),
    };
    let finding = troubles.fold(finding, |finding, (_, trouble)| finding.note(trouble));
    finding.took(slowest).fact("engines", Value::Object(engines))
}

enum State {
    Holds,
    Missing(String),
    Broken(String),
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Missing(_) => "missing",
            Self::Broken(_) => "broken",
        }
    }
}

fn state(wall: &ExaminedWall, examination: &Examination) -> State {
    if let Some(why) = &wall.missing {
        return State::Missing(why.clone());
    }
    let breaches: Vec<String> = examination
        .attempts
        .iter()
        .filter(|attempt| attempt.wall == wall.name)
        .filter_map(|attempt| Some(format!("{}: {}", attempt.tried, attempt.broke.as_ref()?)))
        .collect();
    if breaches.is_empty() { State::Holds } else { State::Broken(breaches.join(", ")) }
}
