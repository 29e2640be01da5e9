//! The page, as a browser without a script sees it: requests, forms and cookies.

mod access;
mod audit;
mod decisions;
mod inbox;
mod injection;
mod parts;
mod replays;
mod running;
mod runs;
mod servers;
mod sign_in;
mod sizes;
mod stopping;
mod stores;

pub use injection::hostile_home;
pub use running::WAITING;
pub use sign_in::run_as;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::bins;

use crate::support::raw_http::{HttpResponse, Request};
use crate::support::{CommandResult, Home, finish};

/// A running `onecall ui`, which is ended when this is dropped.
pub struct PageProcess {
    child: Child,
    /// The address with the key.
    pub entrance: String,
    pub address: SocketAddr,
}

impl PageProcess {
    pub fn start(home: &Home) -> Self {
        let mut command = home.onecall_with_config(&["ui", "--no-open"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("onecall starts");
        let mut entrance = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut entrance).expect("a line");
        let entrance = entrance.trim().to_owned();
        let (_, rest) = entrance.split_once("http://").expect("an address");
        let address = rest.split_once('/').and_then(|(host, _)| host.parse().ok());
        Self { address: address.expect("an address"), entrance, child }
    }

    /// A browser that has used the key.
    pub fn browser(&self) -> PageBrowser {
        let mut browser = PageBrowser::new(self.address);
        let (_, target) = self.entrance.split_once(&self.address.to_string()).expect("its address");
        let seen = browser.get(target);
        assert_eq!((seen.status, seen.location.as_str()), (303, "/page/"), "{}", seen.text);
        browser
    }
}

impl Drop for PageProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A browser without a script. It keeps cookies.
#[derive(Clone)]
pub struct PageBrowser {
    pub address: SocketAddr,
    pub cookies: Vec<(String, String)>,
}

/// What a browser got.
#[derive(Debug)]
pub struct Seen {
    pub status: u16,
    pub location: String,
    pub headers: Vec<(String, String)>,
    pub text: String,
}

impl PageBrowser {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, cookies: Vec::new() }
    }

    pub fn get(&mut self, target: &str) -> Seen {
        let request = self.with_cookies(Request::new("GET", target));
        let response = request.send(self.address);
        self.receive(response)
    }

    /// Sends a form as the page at `target` has it.
    pub fn post(&mut self, target: &str, body: &str) -> Seen {
        let origin = format!("http://{}", self.address);
        self.post_from(target, body, Some(&origin))
    }

    /// Sends a form from a page of this origin.
    pub fn post_from(&mut self, target: &str, body: &str, origin: Option<&str>) -> Seen {
        let mut request = self.with_cookies(Request::new("POST", target));
        request.body = body.as_bytes();
        let length = body.len().to_string();
        request = request
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Content-Length", &length);
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        let response = request.send(self.address);
        self.receive(response)
    }

    fn with_cookies<'a>(&self, request: Request<'a>) -> Request<'a> {
        let pairs: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match pairs.is_empty() {
            true => request,
            false => request.header("Cookie", &pairs.join("; ")),
        }
    }

    fn receive(&mut self, response: HttpResponse) -> Seen {
        let (status, headers) = (response.status, response.headers.clone());
        for (_, cookie) in headers.iter().filter(|(name, _)| name == "set-cookie") {
            let pair = cookie.split(';').next().expect("a pair");
            let (name, value) = pair.split_once('=').expect("a name");
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        let location = response.header("location").unwrap_or_default().to_owned();
        // Pictures are no text.
        let text = String::from_utf8_lossy(&response.bytes()).into_owned();
        Seen { status, location, headers, text }
    }

    /// The hidden field of the forms of this browser.
    pub fn check(&mut self) -> String {
        let page = self.get("/page/");
        let (_, rest) = page.text.split_once("name=\"check\" value=\"").expect("a form");
        rest.split('"').next().expect("a value").to_owned()
    }
}

impl Seen {
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }
}

/// The tools of a server for files.
pub fn files_server(log: &str) -> Value {
    let path = json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "count": { "type": "integer" } },
        "required": ["path"],
    });
    let tool = |name: &str, reads: bool| json!({ "name": name, "description": "Works with files.", "inputSchema": path, "annotations": { "readOnlyHint": reads } });
    let text =
        |text: &str| json!([{ "answer": { "content": [{ "type": "text", "text": text }] } }]);
    let script = json!({
        "tools": [tool("delete", false), tool("read", true)],
        "on": { "tools/call delete": text("deleted"), "tools/call read": text("{\"lines\": 12}") },
    });
    let args = ["--script", &script.to_string(), "--log", log];
    json!({ "name": "files", "command": bins::fixture_server(), "args": args })
}

/// A home with the server for files, whose runs are recorded in full.
pub fn recorded_home(more: &Value) -> Home {
    let home = Home::new();
    let mut config =
        json!({ "servers": [files_server(&home.text_path("received"))], "records": "full" });
    for (key, value) in more.as_object().expect("an object") {
        config[key] = value.clone();
    }
    home.write("config.json", config.to_string());
    home
}

/// Runs a program to its end, and returns the id of its run.
pub fn run(home: &Home, program: &str) -> String {
    finish(home.onecall_with_config(&["run", "-e", program]));
    let listed = finish(home.onecall_with_config(&["runs", "--json", "--limit", "1"]));
    let runs: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    runs[0]["id"].as_str().expect("a run").to_owned()
}

/// A command that runs beside the test.
pub struct Background(std::thread::JoinHandle<CommandResult>);

impl Background {
    pub fn start(command: std::process::Command) -> Self {
        Self(std::thread::spawn(move || finish(command)))
    }

    /// Waits for the end of the command.
    pub fn ended(self) -> CommandResult {
        self.0.join().expect("the command ends")
    }
}
