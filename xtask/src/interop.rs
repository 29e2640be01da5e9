//! Installs and runs the interop suite: published MCP servers and clients.

use std::path::PathBuf;

use testkit::cargo;
use testkit::packages::{NODE, node, npm, venv};

use crate::test;

/// The version of Node.js that the Inspector and the authorization server need.
const RECENT_NODE: node::Version = (22, 19);

/// Variables that tell the tests where something is installed.
type InstalledPaths = Vec<(&'static str, PathBuf)>;

/// One independent installation: its name, and the function that does it.
type Installation = (&'static str, fn() -> Result<InstalledPaths, String>);

const INSTALLATIONS: [Installation; 10] = [
    ("packages from npm", npm_packages),
    ("the Inspector", inspector),
    ("Claude Code", claude_code),
    ("an authorization server", authorization_server),
    ("Python servers and SDK 2", || environment("ONECALL_INTEROP_SERVERS", "servers")),
    ("Python SDK 1", || environment("ONECALL_INTEROP_SDK_1", "sdk-1")),
    ("FastMCP", || environment("ONECALL_INTEROP_FASTMCP", "fastmcp")),
    ("generated TypeScript", typescript),
    ("barriers on the page", || Ok(vec![("ONECALL_INTEROP_AXE", npm::install("axe-core")?)])),
    ("generated Python", || environment("ONECALL_INTEROP_TYPING", "typing")),
];

/// Installs what is missing, reports what cannot be installed, and returns where the rest is.
pub fn install() -> InstalledPaths {
    let mut ready = InstalledPaths::new();
    for (what, install) in INSTALLATIONS {
        match install() {
            Ok(places) => ready.extend(places),
            Err(why) => eprintln!("skipped: no interop test of {what}: {why}"),
        }
    }
    ready
}

fn npm_packages() -> Result<InstalledPaths, String> {
    let node = node::find(NODE)?;
    Ok(vec![("ONECALL_INTEROP_NODE", node), ("ONECALL_INTEROP_NPM", npm::install("npm")?)])
}

fn inspector() -> Result<InstalledPaths, String> {
    let node = node::find(RECENT_NODE)?;
    let inspector = npm::install("inspector")?;
    Ok(vec![("ONECALL_INTEROP_RECENT_NODE", node), ("ONECALL_INTEROP_INSPECTOR", inspector)])
}

fn claude_code() -> Result<InstalledPaths, String> {
    Ok(vec![("ONECALL_INTEROP_CLAUDE_CODE", npm::install("claude-code")?)])
}

fn authorization_server() -> Result<InstalledPaths, String> {
    let node = node::find(RECENT_NODE)?;
    let provider = npm::install("oidc-provider")?;
    Ok(vec![("ONECALL_INTEROP_RECENT_NODE", node), ("ONECALL_INTEROP_OIDC_PROVIDER", provider)])
}

fn typescript() -> Result<InstalledPaths, String> {
    let node = node::find(NODE)?;
    let typescript = npm::install("typescript")?;
    Ok(vec![("ONECALL_INTEROP_NODE", node), ("ONECALL_INTEROP_TYPESCRIPT", typescript)])
}

fn environment(variable: &'static str, name: &str) -> Result<InstalledPaths, String> {
    Ok(vec![(variable, venv::install(name)?)])
}

/// Opens every page in a browser, with every hostile text; arguments are passed to the test binary.
pub fn browser(arguments: &[String]) -> Result<(), String> {
    if !testkit::browser::is_installed() {
        return Err(testkit::browser::MISSING.to_owned());
    }
    cargo::build_binaries()?;
    let axe = ("ONECALL_INTEROP_AXE", npm::install("axe-core")?);
    let variables = [axe, ("ONECALL_BROWSER_LONG", PathBuf::from("1"))];
    test::run_modules(&["browser::"], arguments, &variables)?;
    eprintln!("pictures of all pages are in {}", cargo::output("screenshots").display());
    Ok(())
}

/// Runs only this suite; arguments are passed to the test binary.
pub fn run(arguments: &[String]) -> Result<(), String> {
    cargo::build_binaries()?;
    test::run_modules(&["interop::", "first_path::"], arguments, &install())
}
