//! The servers of one run: those that the workflow needs, and others until the catalog has its
//! size.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::workplace;

use super::workflows::Workflow;

/// The executables and the folder of a run.
pub struct Place {
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
pub enum Way {
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
        for (service, count) in workplace::neighbours() {
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
    pub fn commands(&self, place: &Place) -> Vec<(String, Command)> {
        let start = |(name, count): &(String, usize)| {
            let mut command = Command::new(&place.server);
            command.args(arguments(place, Way::Direct, name, *count));
            (name.clone(), command)
        };
        self.servers.iter().map(start).collect()
    }

    /// `onecall serve` with the same servers and without stored state: learned result types would
    /// change what a search costs.
    pub fn gateway(&self, place: &Place) -> Result<Command, String> {
        let servers: Vec<Value> = self
            .servers
            .iter()
            .map(|(name, count)| {
                let arguments = arguments(place, Way::Onecall, name, *count);
                json!({ "name": name, "command": place.server, "args": arguments })
            })
            .collect();
        let path = place.folder.join("onecall.json");
        write(&path, &json!({ "servers": servers }).to_string())?;
        let state = place.folder.join("state");
        // The folder does not exist the first time.
        _ = fs::remove_dir_all(&state);
        let mut command = Command::new(&place.onecall);
        command.args(["serve", "--log", "error", "--config"]).arg(path);
        command.env("XDG_STATE_HOME", state);
        Ok(command)
    }

    /// Removes the journals of earlier runs.
    pub fn clear_journals(&self, place: &Place) -> Result<(), String> {
        for way in [Way::Direct, Way::Onecall] {
            for (name, _) in &self.servers {
                write(&journal(place, way, name), "")?;
            }
        }
        Ok(())
    }

    /// Every call that changed something, in an order that does not depend on its time.
    pub fn changes(&self, place: &Place, way: Way) -> Result<Vec<Value>, String> {
        let mut changes = Vec::new();
        for (name, _) in &self.servers {
            let path = journal(place, way, name);
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

fn arguments(place: &Place, way: Way, service: &str, tools: usize) -> Vec<String> {
    let journal = journal(place, way, service).display().to_string();
    let flags = ["--service", service, "--tools", &tools.to_string(), "--journal", &journal];
    flags.map(str::to_owned).to_vec()
}

fn journal(place: &Place, way: Way, service: &str) -> PathBuf {
    let way = match way {
        Way::Direct => "direct",
        Way::Onecall => "onecall",
    };
    place.folder.join(format!("{way}-{service}.jsonl"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
