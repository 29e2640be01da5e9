//! `onecall login`, with us as the browser of a person who agrees to everything.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use testkit::web::exchange;

/// How many pages lead to the end.
const MOST_PAGES: usize = 5;

/// Runs a login to its end. If it fails, what it said is the error.
pub fn log_in(mut command: Command) -> Result<(), String> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    let mut lines =
        child.stdout.take().map(BufReader::new).map(BufRead::lines).into_iter().flatten();
    // There is no address if the login is refused before it comes to that.
    let visited = lines.next().and_then(Result::ok).map_or(Ok(()), |address| visit(&address));
    let mut said = String::new();
    let read = child.stderr.take().map_or(Ok(0), |mut stderr| stderr.read_to_string(&mut said));
    let status = child.wait().map_err(|error| format!("{command:?}: {error}"))?;
    eprint!("{said}");
    read.map_err(|error| format!("{command:?}: {error}"))?;
    visited?;
    if status.success() { Ok(()) } else { Err(format!("onecall login failed: {status}: {said}")) }
}

/// The authorization server that a login wants to have named, because a secret would go to it.
pub fn advised_issuer(said: &str) -> Option<&str> {
    let (_, after) = said.split_once("registered, set 'issuer: ")?;
    after.split_once('\'').map(|(issuer, _)| issuer)
}

/// Follows a link and every redirection.
fn visit(address: &str) -> Result<(), String> {
    let mut address = address.to_owned();
    for _ in 0..MOST_PAGES {
        let page = exchange("GET", &address, "").map_err(|error| format!("{address}: {error}"))?;
        match page.location {
            Some(next) => address = next,
            None => return Ok(()),
        }
    }
    Err(format!("{address} leads nowhere"))
}
