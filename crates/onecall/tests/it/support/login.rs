//! `onecall login` with the test as the browser, against servers of the test.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};
use testkit::authorization::{AuthorizationServer, Misbehaviour};
use testkit::mcp::Session;
use testkit::remote::HttpFixture;
use testkit::web::{self, Page};

use super::{CommandResult, Gateway, Home, finish};

pub const LOGIN_NEEDED: &str = "needs login; run `onecall login far`";

/// A server that requires a login, its authorization server, and the home of a user.
pub struct LoginSetup {
    pub authority: AuthorizationServer,
    pub server: HttpFixture,
    pub home: Home,
}

impl LoginSetup {
    pub fn new() -> Self {
        Self::with(AuthorizationServer::start(), &[], json!({}))
    }

    pub fn misbehaving(how: Misbehaviour) -> Self {
        Self::with(AuthorizationServer::misbehaving(how), &[], json!({}))
    }

    /// `flags` are for the server, `entry` is what else its entry says.
    pub fn with(authority: AuthorizationServer, flags: &[&str], entry: Value) -> Self {
        let home = Home::new();
        let (issuer, log) = (authority.issuer(), home.text_path("received"));
        let flags = [&["--guarded-by", &issuer, "--log", &log], flags].concat();
        let server = HttpFixture::start(&flags);
        let mut far = json!({ "name": "far", "url": server.url("/mcp") });
        for (key, value) in entry.as_object().unwrap() {
            far[key] = value.clone();
        }
        home.write("config.json", json!({ "servers": [far] }).to_string());
        Self { authority, server, home }
    }

    /// Logs in with the test as the browser: the page it saw, and how the command ended.
    pub fn log_in(&self) -> (Page, CommandResult) {
        log_in(&self.home)
    }

    pub fn logged_in() -> Self {
        let setup = Self::new();
        let (_, ended) = setup.log_in();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        setup
    }

    /// What `onecall check` says about the server.
    pub fn check(&self) -> String {
        let ended = finish(self.home.onecall_with_config(&["check", "--log", "off"]));
        let row = ended.stdout.lines().nth(2).unwrap_or_else(|| panic!("{ended:?}"));
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub fn gateway(self) -> (Gateway, AuthorizationServer, HttpFixture) {
        let session = Session::open(self.home.onecall_with_config(&["serve", "--log", "trace"]));
        (Gateway { session, home: self.home }, self.authority, self.server)
    }

    /// Why a login does not work.
    pub fn refusal(&self) -> String {
        let mut login = Login::start(&self.home, &[]);
        if let Some(address) = login.address() {
            let page = web::get_with_redirects(&address);
            assert!(page.body.contains("The login did not work"), "{page:?}");
        }
        let ended = login.ended();
        assert_eq!((ended.code, self.vault()), (Some(1), Vec::new()), "{ended:?}");
        let last = ended.stderr.lines().last().unwrap_or_default();
        last.replace(&self.authority.issuer(), "[issuer]").replace(&self.server.url(""), "[server]")
    }

    /// The files that logins are kept in.
    pub fn vault(&self) -> Vec<PathBuf> {
        vault(&self.home)
    }
}

pub fn vault(home: &Home) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(home.path("home/state/onecall/logins"));
    let files = folder.into_iter().flatten().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|it| it == "json")).collect()
}

/// A login under way.
pub struct Login {
    pub child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

impl Login {
    pub fn start(home: &Home, environment: &[(&str, &str)]) -> Self {
        let mut command =
            home.onecall_with_config(&["login", "far", "--log", "trace", "--timeout", "60"]);
        command.envs(environment.iter().copied());
        if !environment.iter().any(|(name, _)| *name == "BROWSER") {
            command.arg("--no-browser");
        }
        let stderr = home.path("said");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(&stderr).unwrap());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout, stderr }
    }

    /// The URL that the user has to open; `None` if the login ends before it prints one.
    pub fn address(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.strip_suffix('\n').map(str::to_owned)
    }

    pub fn ended(mut self) -> CommandResult {
        let code = self.child.wait().unwrap().code();
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        CommandResult { code, stdout, stderr: std::fs::read_to_string(&self.stderr).unwrap() }
    }
}

pub fn log_in(home: &Home) -> (Page, CommandResult) {
    let mut login = Login::start(home, &[]);
    let Some(address) = login.address() else { panic!("{:?}", login.ended()) };
    (web::get_with_redirects(&address), login.ended())
}
