//! Runs `onecall login`, and acts as the browser of a person who agrees to everything.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use testkit::web::exchange;

/// How many pages a login may take.
const MOST_PAGES: usize = 5;

/// Runs a login to its end. The error is its output.
pub fn log_in(mut command: Command) -> Result<(), String> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    let mut lines =
        child.stdout.take().map(BufReader::new).map(BufRead::lines).into_iter().flatten();
    // There is no URL if the login is refused before that.
    let visited = lines.next().and_then(Result::ok).map_or(Ok(()), |address| visit(&address));
    let mut said = String::new();
    let read = child.stderr.take().map_or(Ok(0), |mut stderr| stderr.read_to_string(&mut said));
    let status = child.wait().map_err(|error| format!("{command:?}: {error}"))?;
    eprint!("{said}");
    read.map_err(|error| format!("{command:?}: {error}"))?;
    visited?;
    if status.success() { Ok(()) } else { Err(format!("onecall login failed: {status}: {said}")) }
}

/// The authorization server that a login asks to configure, because a secret would be sent to it.
pub fn advised_issuer(said: &str) -> Option<&str> {
    let (_, after) = said.split_once("registered, set 'issuer: ")?;
    after.split_once('\'').map(|(issuer, _)| issuer)
}

/// Follows a link and every redirect.
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
