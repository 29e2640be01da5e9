//! Checks the configuration: which file is used, why, and what is wrong with it.

use std::path::PathBuf;

use onecall_config::{
    Config, ConfigError, ConfigErrors, ConfigFormat, ConfigOrigin, FoundConfigFile, LoadedConfig,
    Overlap, Problem, ProcessContext, locate,
};
use serde_json::{Value, json};

use super::finding::{Finding, ReportSection, Verdict};
use crate::cli::Global;
use crate::commands::editable_config::counted;
use crate::protection::{self, Overlaps};
use crate::setup;

/// The result of reading the configuration.
pub(super) struct ConfigurationCheck {
    /// The configuration for the other checks; the defaults, if it cannot be read.
    pub(super) config: Config,
    /// The file that it was read from.
    pub(super) source: Option<PathBuf>,
    /// Whether the configuration is valid.
    pub(super) is_valid: bool,
    pub(super) section: ReportSection,
}

pub(super) fn read(global: &Global) -> ConfigurationCheck {
    let context = ProcessContext::current();
    let (found, warnings, loaded) = match locate(global.config.as_deref(), &context) {
        Ok(located) => {
            let loaded = located.load(&context).map_err(ConfigError::from);
            (located.found, located.warnings, loaded)
        }
        Err(error) => (None, Vec::new(), Err(error)),
    };
    let is_valid = loaded.is_ok();
    let (file, warnings, mut config) = match loaded {
        Ok(loaded) => (file_finding(found.as_ref(), &loaded), loaded.warnings, loaded.config),
        Err(error) => {
            (about_origin(invalid_finding(&error), found.as_ref()), warnings, Config::default())
        }
    };
    let mut findings = vec![file];
    findings
        .extend(warnings.iter().map(|it| Finding::from_message(Verdict::Yellow, "warning", it)));
    if let Err(error) = setup::check_workspace(&config) {
        let fix = "create the folder, or correct 'path' in workspace";
        findings.push(Finding::red("workspace", format!("{error:#}")).fix(fix));
        // All other checks are possible without the workspace.
        config.workspace = None;
    }
    let source = found.map(|found| found.path);
    if let Err(Overlaps(overlaps)) = protection::check(&config, source.as_deref()) {
        let finding = |it: &Overlap| Finding::red("folder", it.message()).fix(it.help());
        findings.extend(overlaps.iter().map(finding));
        (config.workspace, config.local_tools) = (None, Vec::new());
    }
    let section = ReportSection { name: "configuration", findings };
    ConfigurationCheck { config, source, is_valid, section }
}

fn file_finding(found: Option<&FoundConfigFile>, loaded: &LoadedConfig) -> Finding {
    let servers = loaded.config.servers.len();
    let finding = match found {
        Some(found) => Finding::green(
            "file",
            format!(
                "{}, {}{}: {}",
                found.path.display(),
                why(found),
                match loaded.format {
                    ConfigFormat::Onecall => "",
                    ConfigFormat::PtcMcp => ", read as a configuration of ptc-mcp",
                },
                counted(servers, "server")
            ),
        ),
        None => Finding::yellow("file", "there is none, so there are no servers")
            .fix("run `onecall init` to create one from the servers of your clients"),
    };
    let format = match loaded.format {
        ConfigFormat::Onecall => "onecall",
        ConfigFormat::PtcMcp => "ptc-mcp",
    };
    about_origin(finding, found).fact("servers", servers).fact("format", format)
}

fn why(found: &FoundConfigFile) -> String {
    match found.origin {
        ConfigOrigin::Named(option) if option.starts_with('-') => format!("named by {option}"),
        ConfigOrigin::Named(variable) => format!("named by ${variable}"),
        ConfigOrigin::WorkingDirectory => "trusted in the working directory".to_owned(),
        ConfigOrigin::User => "your own".to_owned(),
    }
}

fn about_origin(finding: Finding, found: Option<&FoundConfigFile>) -> Finding {
    let origin = found.map(|found| match found.origin {
        ConfigOrigin::Named(by) => by,
        ConfigOrigin::WorkingDirectory => "working directory",
        ConfigOrigin::User => "user",
    });
    let path = found.map(|found| found.path.display().to_string());
    finding.fact("path", path).fact("origin", origin)
}

fn invalid_finding(error: &ConfigError) -> Finding {
    let ConfigError::Invalid(errors) = error else {
        return Finding::from_message(Verdict::Red, "file", &error.to_string());
    };
    let problems: Vec<Value> = errors.problems().iter().map(described).collect();
    let summary = format!("{} cannot be used", errors.file().display());
    let mut finding = Finding::red("file", summary).fact("problems", problems);
    for line in errors.to_string().lines() {
        finding = finding.note(line);
    }
    finding.fix = first_help(errors);
    finding
}

fn described(problem: &Problem) -> Value {
    let Problem { line, column, message, help } = problem;
    json!({ "line": line, "column": column, "message": message, "help": help })
}

fn first_help(errors: &ConfigErrors) -> Option<String> {
    let Problem { line, message, help, .. } = errors.problems().first()?;
    Some(format!("correct line {line}: {}", help.as_ref().unwrap_or(message)))
}
