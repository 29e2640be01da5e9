//! A minimal HTTP client that acts as a person's browser in tests.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The timeout for a page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The response of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The status code.
    pub status: u16,
    /// The target of a redirect, if it is one.
    pub location: Option<String>,
    /// The body of the response.
    pub body: String,
}

/// Fetches a page without following redirects.
///
/// # Panics
/// If there is no response.
#[must_use]
pub fn get(url: &str) -> Page {
    send_request("GET", url, "").unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// Fetches a page and follows every redirect, as a browser does; returns the last page.
///
/// # Panics
/// If the redirects do not end.
#[must_use]
pub fn get_with_redirects(url: &str) -> Page {
    let mut page = get(url);
    for _ in 0..5 {
        match &page.location {
            Some(next) => page = get(next),
            None => return page,
        }
    }
    panic!("{url} leads nowhere")
}

/// Sends one request to a URL that begins with `http://`.
///
/// # Errors
/// If the connection fails.
pub fn send_request(method: &str, url: &str, body: &str) -> io::Result<Page> {
    let rest = url.strip_prefix("http://").ok_or(io::ErrorKind::InvalidInput)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(PAGE_TIMEOUT))?;
    let kind = "application/x-www-form-urlencoded";
    write!(
        stream,
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = Vec::new();
    let mut head_end = None;
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk)?;
        response.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&response).into_owned();
        head_end = head_end.or_else(|| text.find("\r\n\r\n").map(|end| end + 4));
        let Some(start) = head_end else {
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let header = |name: &str| {
            let lines = text[..start].lines().skip(1).filter_map(|line| line.split_once(':'));
            let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.trim().to_owned())
        };
        let length = header("content-length").and_then(|length| length.parse::<usize>().ok());
        if count == 0 || length.is_some_and(|length| response.len() >= start + length) {
            let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
            return Ok(Page {
                status: status.unwrap_or(0),
                location: header("location"),
                body: text[start..].to_owned(),
            });
        }
    }
}

/// The fields of a query or a form.
#[must_use]
pub fn parse_fields(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(name), percent_decode(value))
        })
        .collect()
}

/// A text in the encoding of a query or a form.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8(digits).unwrap_or_default();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
