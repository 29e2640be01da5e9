//! The servers of one run: those that the workflow needs, and others until the catalog has its
//! size.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::workplace;

use super::workflows::Workflow;

/// The executables and the folder of a run.
pub struct RunPaths {
    pub onecall: PathBuf,
    pub server: PathBuf,
    /// For configurations, journals and transcripts; kept after the run, so that it can be
    /// examined.
    pub folder: PathBuf,
}

/// A set of servers with a given total number of tools.
pub struct Catalog {
    pub tools: usize,
    servers: Vec<(String, usize)>,
}

/// Which of the two agents a journal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentKind {
    Direct,
    Onecall,
}

impl Catalog {
    /// A catalog with the services of the workflow first; the last server may have only some of its
    /// tools.
    pub fn of(workflow: &Workflow, tools: usize) -> Result<Self, String> {
        let mut servers = Vec::new();
        let mut left = tools;
        for service in workflow.services {
            let count = workplace::tool_count(service)
                .ok_or_else(|| format!("there is no service '{service}'"))?;
            left = left.checked_sub(count).ok_or_else(|| {
                format!("{} needs more than the {tools} tools of this catalog", workflow.name)
            })?;
            servers.push(((*service).to_owned(), count));
        }
        for (service, count) in workplace::filler_services() {
            let count = count.min(left);
            if count > 0 {
                left -= count;
                servers.push((service, count));
            }
        }
        match left {
            0 => Ok(Self { tools, servers }),
            _ => Err(format!("a catalog has {} tools at most, not {tools}", tools - left)),
        }
    }

    /// The name of every server and the command that starts it.
    pub fn commands(&self, paths: &RunPaths) -> Vec<(String, Command)> {
        let start = |(name, count): &(String, usize)| {
            let mut command = Command::new(&paths.server);
            command.args(arguments(paths, AgentKind::Direct, name, *count));
            (name.clone(), command)
        };
        self.servers.iter().map(start).collect()
    }

    /// `onecall serve` with the same servers and without stored state: learned result types would
    /// change what a search costs.
    pub fn gateway(&self, paths: &RunPaths) -> Result<Command, String> {
        let servers: Vec<Value> = self
            .servers
            .iter()
            .map(|(name, count)| {
                let arguments = arguments(paths, AgentKind::Onecall, name, *count);
                json!({ "name": name, "command": paths.server, "args": arguments })
            })
            .collect();
        let path = paths.folder.join("onecall.json");
        write(&path, &json!({ "servers": servers }).to_string())?;
        let state = paths.folder.join("state");
        // The folder does not exist the first time.
        _ = fs::remove_dir_all(&state);
        let mut command = Command::new(&paths.onecall);
        command.args(["serve", "--log", "error", "--config"]).arg(path);
        command.env("XDG_STATE_HOME", state);
        Ok(command)
    }

    /// Removes the journals of earlier runs.
    pub fn clear_journals(&self, paths: &RunPaths) -> Result<(), String> {
        for agent in [AgentKind::Direct, AgentKind::Onecall] {
            for (name, _) in &self.servers {
                write(&journal(paths, agent, name), "")?;
            }
        }
        Ok(())
    }

    /// Every call that changed something, in an order that does not depend on its time.
    pub fn changes(&self, paths: &RunPaths, agent: AgentKind) -> Result<Vec<Value>, String> {
        let mut changes = Vec::new();
        for (name, _) in &self.servers {
            let path = journal(paths, agent, name);
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            for line in text.lines() {
                let mut change: Value =
                    serde_json::from_str(line).map_err(|error| error.to_string())?;
                change.sort_all_objects();
                changes.push(change);
            }
        }
        changes.sort_by_cached_key(Value::to_string);
        Ok(changes)
    }
}

fn arguments(paths: &RunPaths, agent: AgentKind, service: &str, tools: usize) -> Vec<String> {
    let journal = journal(paths, agent, service).display().to_string();
    let flags = ["--service", service, "--tools", &tools.to_string(), "--journal", &journal];
    flags.map(str::to_owned).to_vec()
}

fn journal(paths: &RunPaths, agent: AgentKind, service: &str) -> PathBuf {
    let agent = match agent {
        AgentKind::Direct => "direct",
        AgentKind::Onecall => "onecall",
    };
    paths.folder.join(format!("{agent}-{service}.jsonl"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
