//! `onecall doctor`: does the sandbox hold, wall by wall?

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use onecall_config::Sandbox;
use onecall_core::EngineChoice;
use onecall_engine::{EngineError, Examination};

use crate::cli::Global;
use crate::setup;
use crate::terminal::Readable;

/// Has a worker of each engine try to break out and prints what held it.
pub(crate) fn doctor(global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    let engines = setup::engines(&config, setup::this_executable()?, None)?;
    let runtime = setup::tokio_runtime()?;
    let mut report = format!("sandbox: {}\n", name_of(config.sandbox));
    let mut usable = true;
    let all = [
        ("python", EngineChoice::Python),
        ("cpython", EngineChoice::CPython),
        ("typescript", EngineChoice::TypeScript),
    ];
    for (title, choice) in all {
        let examined = runtime.block_on(engines.examine(choice));
        let is_default = choice == config.engine
            || (choice, config.engine) == (EngineChoice::Python, EngineChoice::Auto);
        let holds = examined.as_ref().is_ok_and(|it| it.faults().is_empty());
        let accepted = config.sandbox != Sandbox::Required && examined.is_ok();
        usable &= holds || accepted || !is_default;
        report.push_str(&format!("\nengine {title}"));
        if is_default {
            report.push_str(" (default)");
        }
        report.push_str(&findings(config.sandbox, &examined));
    }
    let mut stdout = io::stdout().lock();
    let readable = Readable::new(stdout.is_terminal());
    stdout.write_all(readable.text(&report).as_bytes())?;
    Ok(if usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn name_of(sandbox: Sandbox) -> &'static str {
    let mut names = Sandbox::NAMES.iter();
    names.find(|(_, known)| *known == sandbox).map_or("?", |(name, _)| name)
}

fn findings(sandbox: Sandbox, examined: &Result<Examination, EngineError>) -> String {
    match examined {
        Err(error) => format!(": cannot run programs: {error}\n"),
        Ok(_) if sandbox == Sandbox::Off => {
            ": runs programs without walls; only their limits hold\n".to_owned()
        }
        Ok(examination) => table(examination),
    }
}

fn table(examination: &Examination) -> String {
    let mut table = format!("\n  {:<14}{:<10}{:>9}  TRIED IN VAIN\n", "WALL", "STATE", "COST");
    for wall in &examination.walls {
        let attempts: Vec<_> =
            examination.attempts.iter().filter(|attempt| attempt.wall == wall.name).collect();
        let breaches: Vec<String> = attempts
            .iter()
            .filter_map(|attempt| Some(format!("{}: {}", attempt.tried, attempt.broke.as_ref()?)))
            .collect();
        let (state, remark) = match (&wall.missing, breaches.is_empty()) {
            (Some(reason), _) => ("missing", reason.clone()),
            (None, false) => ("BROKEN", breaches.join("; ")),
            (None, true) => {
                let tried: Vec<_> = attempts.iter().map(|it| it.tried.as_str()).collect();
                ("holds", tried.join(", "))
            }
        };
        let cost = format!("{} µs", wall.cost.as_micros());
        table.push_str(&format!("  {:<14}{state:<10}{cost:>9}  {remark}\n", wall.name));
    }
    let total: u128 = examination.walls.iter().map(|wall| wall.cost.as_micros()).sum();
    table.push_str(&format!("  {:<24}{:>9}\n", "together", format!("{total} µs")));
    table
}
