//! `onecall doctor`: checks everything that onecall depends on, and reports what is wrong and how
//! to fix it. It changes nothing, and a failure of one check does not hide another.

mod clients;
mod configuration;
mod engines;
mod finding;
mod programs;
mod sandbox;
mod scratch;
mod servers;
mod store;
mod text;
mod users;
mod variables;
mod versions;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use indicatif::ProgressBar;

use self::configuration::ConfigurationCheck;
use self::finding::{DoctorReport, Verdict};
use self::text::ReportLayout;
use crate::cli::Global;
use crate::setup;
use crate::terminal::{print, print_styled, spinner};

/// Runs all checks and prints the report.
pub(crate) fn doctor(is_json: bool, global: &Global) -> anyhow::Result<ExitCode> {
    let progress = spinner("reading the configuration");
    let report = setup::tokio_runtime()?.block_on(examine(global, &progress));
    progress.finish_and_clear();
    let report = report?;
    match is_json {
        true => print(&format!("{:#}\n", report.json()))?,
        false => print_styled(&ReportLayout::of_stdout().text(&report))?,
    }
    let is_broken = report.worst() == Verdict::Red;
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The checks run one after the other, so that their times are meaningful.
async fn examine(global: &Global, progress: &ProgressBar) -> anyhow::Result<DoctorReport> {
    let started = Instant::now();
    let mut sections = vec![versions::check()];
    let ConfigurationCheck { config, source, is_valid, section } = configuration::read(global);
    sections.push(section);
    progress.set_message("trying to break out of the sandbox");
    let all = Arc::new(setup::engines(&config, source.as_deref(), None)?);
    let tested = engines::test(&all).await;
    sections.push(sandbox::check(&config, &tested));
    progress.set_message("running programs");
    sections.push(engines::check(all, &tested, &config).await);
    progress.set_message("looking for Python and Node");
    sections.push(programs::check(&config).await);
    sections.push(match is_valid {
        true => servers::check(&config, setup::guard()?, progress).await,
        false => servers::not_checked(),
    });
    progress.set_message("looking at files");
    sections.push(store::check(&config));
    if config.users.is_some() || config.policy.is_some() {
        progress.set_message("asking the identity provider");
        sections.push(users::check(&config).await);
    }
    sections.push(clients::check());
    Ok(DoctorReport { sections, took: started.elapsed() })
}
