//! Runs `onecall login`, and acts as the browser of a person who agrees to everything.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use testkit::web::send_request;

/// How many pages a login may take.
const MAX_PAGES: usize = 5;

/// What stands before the issuer in the error of a login that would send it a client secret.
const ISSUER_ADVICE: &str = "if you registered onecall there, set 'issuer: ";

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
    let visited =
        lines.next().and_then(Result::ok).map_or(Ok(()), |address| follow_redirects(&address));
    let mut text = String::new();
    let read = child.stderr.take().map_or(Ok(0), |mut stderr| stderr.read_to_string(&mut text));
    let status = child.wait().map_err(|error| format!("{command:?}: {error}"))?;
    eprint!("{text}");
    read.map_err(|error| format!("{command:?}: {error}"))?;
    visited?;
    if status.success() { Ok(()) } else { Err(format!("onecall login failed: {status}: {text}")) }
}

/// The authorization server that a login asks to configure, because a secret would be sent to it.
pub fn advised_issuer(text: &str) -> Option<&str> {
    let (_, after) = text.split_once(ISSUER_ADVICE)?;
    after.split_once('\'').map(|(issuer, _)| issuer)
}

/// Follows a link and every redirect.
fn follow_redirects(address: &str) -> Result<(), String> {
    let mut address = address.to_owned();
    for _ in 0..MAX_PAGES {
        let page =
            send_request("GET", &address, "").map_err(|error| format!("{address}: {error}"))?;
        match page.location {
            Some(next) => address = next,
            None => return Ok(()),
        }
    }
    Err(format!("{address} leads nowhere"))
}

#[cfg(test)]
mod tests {
    /// The conformance suite depends on this text and runs last, so a change of it is found here.
    #[test]
    fn a_login_advises_the_issuer_in_these_words() {
        let messages = include_str!("../../../tests/messages.txt");
        assert!(messages.contains(super::ISSUER_ADVICE), "tests/messages.txt has other words");
    }
}
