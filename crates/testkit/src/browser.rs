//! A real browser, driven over the WebDriver protocol: Chromium without a window, and its driver from the
//! packages of the system. Each browser has a profile of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::process::wait_until;

/// What a skipped test says.
pub const MISSING: &str = "skipped: chromium and chromedriver are not installed (Debian: apt install chromium \
                           chromium-driver), so no test in a browser";

/// How long the browser may take for one thing.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running browser, which is ended when this is dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// The colours that a page is shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on a light page.
    Light,
    /// Light text on a dark page.
    Dark,
}

impl Theme {
    /// Both themes.
    pub const ALL: [Self; 2] = [Self::Light, Self::Dark];

    /// The name of the theme in CSS.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Whether the browser and its driver are installed.
#[must_use]
pub fn is_installed() -> bool {
    find("chromedriver").is_some() && find("chromium").is_some()
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

impl Browser {
    /// Starts a browser with a window of this size.
    ///
    /// # Panics
    /// If it is not installed or does not start.
    #[must_use]
    pub fn start(width: u32, height: u32) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let lines = BufReader::new(driver.stdout.take().expect("a pipe")).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("started successfully on port ")?;
            rest.trim_end_matches('.').parse().ok()
        });
        let mut browser = Self { driver, port: port.expect("its port"), session: String::new() };
        let size = format!("--window-size={width},{height}");
        let arguments =
            ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", &size, "--lang=en-GB"];
        let capabilities = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": { "args": arguments, "binary": find("chromium") },
        });
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let begun = browser.request("POST", "/session", Some(&body));
        browser.session = begun["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    /// Opens an address, and waits until it is loaded.
    pub fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// The address of the page.
    #[must_use]
    pub fn address(&self) -> String {
        let address = self.request("GET", &format!("/session/{}/url", self.session), None);
        address.as_str().unwrap_or_default().to_owned()
    }

    /// Runs the body of a function in the page, and returns its value. A promise is waited for.
    pub fn script(&self, body: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Waits until an expression is true in the page; the result says whether it became true.
    #[must_use]
    pub fn becomes(&self, expression: &str) -> bool {
        let body = format!("return Boolean({expression})");
        wait_until(TIMEOUT, || self.script(&body) == json!(true))
    }

    /// Presses a key, or types a text, wherever the focus is.
    pub fn type_keys(&self, keys: &str) {
        let press = |key: char| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<Value> = keys.chars().flat_map(press).collect();
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }),
        );
    }

    /// Shows pages in these colours from now on.
    pub fn set_theme(&self, theme: Theme) {
        let feature = json!({ "name": "prefers-color-scheme", "value": theme.name() });
        self.developer("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Lets pages of this origin show notifications.
    pub fn allow_notifications(&self, origin: &str) {
        let parameters = json!({ "origin": origin, "permissions": ["notifications"] });
        self.developer("Browser.grantPermissions", &parameters);
    }

    /// Writes a picture of the whole page.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn screenshot(&self, file: &Path) {
        let size = self
            .script("return [innerWidth, Math.min(4000, document.documentElement.scrollHeight)]");
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let options = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.developer("Page.captureScreenshot", &options);
        let bytes = STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base64");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, bytes).expect("a file");
    }

    /// What the console has shown since the last call.
    #[must_use]
    pub fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({ "type": "browser" }));
        let message = |entry: &Value| entry["message"].as_str().map(str::to_owned);
        entries.as_array().into_iter().flatten().filter_map(message).collect()
    }

    /// The addresses that pages have requested since the last call.
    #[must_use]
    pub fn requested(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({ "type": "performance" }));
        let address = |entry: &Value| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = &message["message"];
            (event["method"] == "Network.requestWillBeSent").then_some(())?;
            event["params"]["request"]["url"].as_str().map(str::to_owned)
        };
        entries.as_array().into_iter().flatten().filter_map(address).collect()
    }

    fn developer(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.request("POST", &format!("/session/{}{path}", self.session), Some(body))
    }

    /// Sends a request to the driver, and returns the value of its answer.
    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the driver listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("the request is taken");
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("an answer");
            let Some((name, value)) = line.trim_end().split_once(':') else {
                if line.trim_end().is_empty() {
                    break;
                }
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).expect("the whole answer");
        let mut answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let value = answer["value"].take();
        assert!(value.get("error").is_none_or(Value::is_null), "{method} {path}: {value}");
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.request("DELETE", &format!("/session/{}", self.session), None);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
