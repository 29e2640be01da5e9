//! Checks the clients that start onecall.

use std::path::Path;

use onecall_clients::{Client, Discovery, Launch, Server, ServerOrigin};

use super::finding::{Finding, ReportSection};
use crate::commands::init::host;

pub(super) fn check() -> ReportSection {
    let environment = |name: &str| std::env::var(name).ok();
    let findings = match host(&environment) {
        Err(error) => vec![
            Finding::yellow("files", format!("not checked: {error:#}"))
                .fix("set the variable, so that `onecall install` finds these files, too"),
        ],
        Ok(host) => {
            let clients: Vec<Client> = Client::NAMES.iter().map(|(.., client)| *client).collect();
            let executable = std::env::current_exe().ok();
            let executable = executable.as_deref().and_then(Path::to_str);
            listed(&Discovery::of_clients(&host, &clients, executable))
        }
    };
    ReportSection { name: "clients", findings }
}

fn listed(discovery: &Discovery) -> Vec<Finding> {
    if discovery.own_entries.is_empty() {
        let none = Finding::green("files", "no known client starts onecall yet");
        return vec![none.note("`onecall install CLIENT` adds onecall to a client")];
    }
    discovery.own_entries.iter().map(|(server, origin)| entry(server, origin)).collect()
}

fn entry(server: &Server, origin: &ServerOrigin) -> Finding {
    let (client, path) = (origin.client, origin.path.display().to_string());
    let command = match &server.launch {
        Launch::Command { command, .. } => command.as_str(),
        Launch::Remote { .. } => "",
    };
    let is_gone = Path::new(command).is_absolute() && !Path::new(command).exists();
    let finding = if is_gone {
        Finding::red(client.id(), format!("{path} starts '{command}', which does not exist"))
            .fix(format!("run `onecall install {}` again", client.id()))
    } else if server.disabled {
        Finding::yellow(client.id(), format!("onecall is disabled in {path}"))
            .fix(format!("enable it in {client}"))
    } else {
        Finding::green(client.id(), path.clone())
    };
    finding.fact("path", path).fact("command", command)
}
