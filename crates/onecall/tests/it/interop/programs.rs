//! Programs over published servers print exactly what is stored beside them; each names the
//! servers it needs in its first line.

use std::fs;

use serde_json::json;

use super::repository::make_repository;
use super::servers::entry;
use crate::support::installed::interop_file;
use crate::support::{Gateway, Home};

/// What stands for the path of the repository in a program.
const REPOSITORY: &str = "REPOSITORY";

#[test]
fn everything() {
    check("everything");
}

#[test]
fn filesystem() {
    check("filesystem");
}

#[test]
fn memory() {
    check("memory");
}

#[test]
fn thinking() {
    check("thinking");
}

#[test]
fn time_zones() {
    check("time_zones");
}

#[test]
fn git() {
    check("git");
}

#[test]
fn sqlite() {
    check("sqlite");
}

#[test]
fn fetch() {
    check("fetch");
}

#[test]
fn kubernetes() {
    check("kubernetes");
}

#[test]
fn git_report() {
    check("git_report");
}

#[test]
fn orders() {
    check("orders");
}

#[test]
fn fan_out() {
    check("fan_out");
}

/// Runs a program with the servers it names, if all of them are installed.
fn check(name: &str) {
    let home = Home::new();
    let code = code(name);
    let servers: Option<Vec<_>> = servers(&code).map(|server| entry(server, &home)).collect();
    let Some(servers) = servers else { return };
    home.write("config.json", json!({ "servers": servers }).to_string());
    let code = if code.contains(REPOSITORY) {
        make_repository(&home.path("repository"));
        code.replace(REPOSITORY, &home.text_path("repository"))
    } else {
        code
    };
    assert_eq!(Gateway::in_home(home).prints(&code), output(name));
}

/// The source of a program.
pub fn code(name: &str) -> String {
    let path = interop_file("programs").join(name).with_extension("py");
    fs::read_to_string(path).expect("the program is there")
}

/// What a program must print.
pub fn output(name: &str) -> String {
    let path = interop_file("programs").join(name).with_extension("out");
    fs::read_to_string(path).expect("every program has its output")
}

fn servers(code: &str) -> impl Iterator<Item = &str> {
    let line = code.lines().next().and_then(|line| line.strip_prefix("# servers: "));
    line.expect("the first line names the servers").split(", ")
}
