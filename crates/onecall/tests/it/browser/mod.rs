//! The page in a real browser: live changes, keyboard, themes, and that nothing on it is an error, a barrier
//! or a request to elsewhere. `cargo xtask browser` installs what looks for barriers, opens every page with
//! every hostile text, and is the longer form.

mod forms;
mod hostile;
mod live;
mod pages;

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::browser::{Browser, MISSING, Theme, is_installed};

use crate::page::PageProcess;

/// Names the folder with axe-core.
const AXE: &str = "ONECALL_INTEROP_AXE";

/// Set for the longer form.
const LONG: &str = "ONECALL_BROWSER_LONG";

/// Whether there is a browser. If not, the test says what it skips.
#[expect(clippy::print_stderr, reason = "a developer reads it")]
fn has_browser() -> bool {
    let is_installed = is_installed();
    if !is_installed {
        eprintln!("{MISSING}");
    }
    is_installed
}

fn is_long() -> bool {
    std::env::var_os(LONG).is_some()
}

/// A browser that has opened the page.
struct OpenPage {
    browser: Browser,
    address: SocketAddr,
    axe: Option<String>,
    /// The process of the page, if it ends with this.
    _page: Option<PageProcess>,
}

impl OpenPage {
    fn new(page: PageProcess, width: u32, height: u32) -> Self {
        let browser = Browser::start(width, height);
        browser.open(&page.entrance);
        assert_eq!(browser.address(), format!("http://{}/page/", page.address));
        Self::with(browser, page.address, Some(page))
    }

    /// The page of a gateway, before anyone has signed in.
    fn of_gateway(address: SocketAddr, width: u32, height: u32) -> Self {
        Self::with(Browser::start(width, height), address, None)
    }

    fn with(browser: Browser, address: SocketAddr, page: Option<PageProcess>) -> Self {
        let axe = std::env::var_os(AXE).map(PathBuf::from);
        let axe = axe.map(|folder| folder.join("node_modules/axe-core/axe.min.js"));
        let axe = axe.and_then(|file| std::fs::read_to_string(file).ok());
        Self { browser, address, axe, _page: page }
    }

    fn open(&self, target: &str) {
        self.browser.open(&format!("http://{}{target}", self.address));
    }

    /// Asserts that the page has no error, no request to elsewhere and, if that can be checked, no barrier.
    fn check(&self, what: &str) {
        self.check_answer(what, 200);
    }

    /// Checks a page that is answered with this status, which the console may mention.
    fn check_answer(&self, what: &str, status: u16) {
        let mut console = self.browser.console();
        console.retain(|line| !line.contains(&format!("responded with a status of {status} ")));
        assert_eq!(console, [""; 0], "{what}");
        let own = format!("http://{}/page/", self.address);
        let is_own = |address: &String| address.starts_with(&own) || address.starts_with("data:");
        let foreign: Vec<_> =
            self.browser.requested().into_iter().filter(|it| !is_own(it)).collect();
        assert_eq!(foreign, [""; 0], "{what}");
        if let Some(axe) = &self.axe {
            let body = format!("{axe};return axe.run().then((found) => found.violations)");
            let violations = self.browser.script(&body);
            let shown: Vec<Value> =
                violations.as_array().expect("a list").iter().map(short).collect();
            assert_eq!(shown, [json!(null); 0], "{what}");
        }
    }

    /// Writes a picture of the page for a person to look at.
    fn picture(&self, name: &str, theme: Theme) {
        let file = format!("{name}-{}.png", theme.name());
        self.browser.screenshot(&testkit::cargo::output("screenshots").join(file));
    }
}

/// What matters of a violation.
fn short(violation: &Value) -> Value {
    let nodes = violation["nodes"].as_array().into_iter().flatten();
    let nodes: Vec<&Value> = nodes.map(|node| &node["failureSummary"]).take(3).collect();
    let places: Vec<&Value> = violation["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|node| &node["html"])
        .take(3)
        .collect();
    json!({ "rule": violation["id"], "why": nodes, "where": places })
}
