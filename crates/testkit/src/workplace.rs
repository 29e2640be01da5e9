//! The services that a team works with, each as an MCP server with typical definitions and
//! payloads: the token benchmark counts them, and the cookbook's programs use them. Answers are
//! always the same; calls that would change something are only written to a journal.

mod analytics;
mod calendar;
mod calls;
mod chat;
mod ci;
mod contacts;
mod crm;
mod filler_services;
mod finance;
mod handbook;
mod helpdesk;
mod invented;
mod observability;
mod office;
mod orders_db;
mod people;
mod rates;
mod rows;
mod sales;
mod sheets;
mod shop;
mod team;
mod warehouse_db;

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use calls::CallResult;

/// The tools of one kind of service.
struct Service {
    name: &'static str,
    /// A JSON array of tool definitions.
    definitions: &'static str,
    call: fn(tool: &str, arguments: &Value) -> CallResult,
}

macro_rules! service {
    ($name:ident) => {
        Service {
            name: stringify!($name),
            definitions: include_str!(concat!("../data/workplace/", stringify!($name), ".json")),
            call: $name::call,
        }
    };
}

const SERVICES: &[Service] = &[
    service!(analytics),
    service!(calendar),
    service!(chat),
    service!(ci),
    service!(contacts),
    service!(crm),
    service!(finance),
    service!(handbook),
    service!(helpdesk),
    service!(observability),
    service!(office),
    service!(orders_db),
    service!(people),
    service!(rates),
    service!(sales),
    service!(sheets),
    service!(shop),
    service!(team),
    service!(warehouse_db),
];

/// The options of one server process.
#[derive(Debug, Default)]
pub struct Options {
    /// `--service NAME`: one of the services, or one of those that only fill a catalog.
    service: String,
    /// `--tools N`: only the first N tools.
    tools: Option<usize>,
    /// `--journal FILE`: where calls of tools that change something are logged.
    journal: Option<PathBuf>,
}

impl Options {
    /// Parses the flags (without the program's own name).
    ///
    /// # Errors
    /// A message that names the flag that is unknown or lacks its value.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--service" => options.service = value,
                "--tools" => {
                    let count = value.parse().map_err(|_| format!("'{value}' is no number"))?;
                    options.tools = Some(count);
                }
                "--journal" => options.journal = Some(value.into()),
                _ => return Err(format!("unknown flag {flag}")),
            }
        }
        Ok(options)
    }
}

/// The services that only fill a catalog, and how many tools each has.
#[must_use]
pub fn filler_services() -> Vec<(String, usize)> {
    filler_services::all()
}

/// How many tools a service has; `None` if there is no such service.
#[must_use]
pub fn tool_count(service: &str) -> Option<usize> {
    definitions(service).map(|definitions| definitions.len())
}

fn definitions(service: &str) -> Option<Vec<Value>> {
    match SERVICES.iter().find(|known| known.name == service) {
        Some(known) => serde_json::from_str(known.definitions).ok(),
        None => filler_services::definitions(service),
    }
}

/// Serves on stdio until stdin closes.
pub fn run(options: &Options) -> ExitCode {
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "workplace-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(options: &Options) -> io::Result<()> {
    let mut definitions = definitions(&options.service)
        .ok_or_else(|| io::Error::other(format!("no service is called '{}'", options.service)))?;
    definitions.truncate(options.tools.unwrap_or(usize::MAX));
    let open = |path| File::options().create(true).append(true).open(path);
    let journal = options.journal.as_ref().map(open).transpose()?;
    let workplace = Workplace {
        service: SERVICES.iter().find(|service| service.name == options.service),
        name: &options.service,
        definitions,
        journal,
    };
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id") else { continue };
        let mut answer = workplace.answer(&request)?;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        stdout.write_all(format!("{answer}\n").as_bytes())?;
        stdout.flush()?;
    }
    Ok(())
}

struct Workplace<'a> {
    service: Option<&'static Service>,
    name: &'a str,
    definitions: Vec<Value>,
    journal: Option<File>,
}

impl Workplace<'_> {
    fn answer(&self, request: &Value) -> io::Result<Value> {
        let params = &request["params"];
        Ok(match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "result": {
                "protocolVersion": params["protocolVersion"],
                "capabilities": self.capabilities(),
                "serverInfo": { "name": self.name, "version": "1.0.0" },
            }}),
            "tools/list" => json!({ "result": { "tools": self.definitions } }),
            "tools/call" => json!({ "result": self.call(params)? }),
            "ping" => json!({ "result": {} }),
            method => match self.answer_other_method(method, params) {
                Some(result) => json!({ "result": result }),
                None => json!({ "error": { "code": -32601, "message": format!("no {method}") } }),
            },
        })
    }

    fn capabilities(&self) -> Value {
        match self.name {
            "handbook" => json!({ "tools": {}, "resources": {}, "prompts": {} }),
            _ => json!({ "tools": {} }),
        }
    }

    fn answer_other_method(&self, method: &str, params: &Value) -> Option<Value> {
        (self.name == "handbook").then(|| handbook::answer_other_method(method, params)).flatten()
    }

    fn call(&self, params: &Value) -> io::Result<Value> {
        let tool = params["name"].as_str().unwrap_or_default();
        let definition = self.definitions.iter().find(|definition| definition["name"] == tool);
        let answer = match (self.service, definition) {
            (Some(service), Some(_)) => (service.call)(tool, &params["arguments"]),
            (None, Some(_)) => Err("this account has no access to the service".to_owned()),
            (_, None) => Err(format!("unknown tool: {tool}")),
        };
        let value = match answer {
            Ok(value) => value,
            Err(why) => {
                let content = json!([{ "type": "text", "text": why }]);
                return Ok(json!({ "content": content, "isError": true }));
            }
        };
        let is_read = definition.is_some_and(|tool| tool["annotations"]["readOnlyHint"] == true);
        if let (Some(mut journal), false) = (self.journal.as_ref(), is_read) {
            let line = json!({ "tool": tool, "arguments": params["arguments"] });
            journal.write_all(format!("{line}\n").as_bytes())?;
        }
        let mut result = json!({ "content": [{ "type": "text", "text": value.to_string() }] });
        if definition.is_some_and(|tool| tool.get("outputSchema").is_some()) {
            result["structuredContent"] = value;
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_describes_its_tools() {
        for service in SERVICES {
            assert!(tool_count(service.name).is_some_and(|count| count > 0), "{}", service.name);
        }
    }

    #[test]
    fn neighbours_fill_a_catalog_of_five_hundred_with_names_of_their_own() {
        let mut names: Vec<String> = filler_services()
            .iter()
            .flat_map(|(service, count)| {
                let tools = definitions(service).unwrap_or_default();
                assert_eq!(tools.len(), *count, "{service}");
                tools.into_iter().map(move |tool| format!("{service}.{}", tool["name"]))
            })
            .collect();
        names.sort();
        assert!(names.len() >= 500, "{}", names.len());
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
