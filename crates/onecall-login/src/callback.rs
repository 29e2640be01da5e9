//! The local HTTP listener that the browser is redirected to after a login. Only a request with the
//! state of this login ends the wait: any page in the browser and any process on this machine can
//! send other requests.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::LoginError;
use crate::{Token, secrecy};

const PATH: &str = "/callback";

/// The time limits for reading a request and sending a page: browsers open connections in advance
/// and send nothing on them.
const REQUEST: Duration = Duration::from_secs(10);
const PAGE: Duration = Duration::from_secs(2);

/// The longest head of a request, and the number of concurrent connections.
const MAX_HEAD: usize = 32 * 1024;
const MAX_OPEN: usize = 64;

const LOGGED_IN: &str = "You are logged in. You can close this page.";
const FAILED: &str = "The login did not work. The terminal says why; you can close this page.";
const NOT_OURS: &str = "This does not belong to the login that is under way.";
const ELSEWHERE: &str = "There is nothing here.";

pub(crate) struct Listener {
    listener: TcpListener,
    redirect: String,
}

/// The parameters that the authorization server passes through the browser.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub state: String,
    pub code: Option<Token>,
    pub issuer: Option<String>,
    pub error: Option<String>,
    pub error_description: Option<String>,
}

/// A browser that is waiting for a page.
pub(crate) struct Browser(TcpStream);

impl Listener {
    /// Listens on this loopback port, or on any free one.
    pub async fn open(port: Option<u16>) -> Result<Self, LoginError> {
        let port = port.unwrap_or(0);
        let no_listener = |source| LoginError::NoListener { port, source };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(no_listener)?;
        let address = listener.local_addr().map_err(no_listener)?;
        Ok(Self { redirect: format!("http://{address}{PATH}"), listener })
    }

    /// The redirect URI for the browser.
    pub fn redirect(&self) -> &str {
        &self.redirect
    }

    /// Waits for a request with this state. The caller limits the time.
    pub async fn answer(&self, state: &str) -> (Told, Browser) {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if open.len() < MAX_OPEN => {
                    if let Ok((stream, _)) = accepted {
                        open.spawn(timeout(REQUEST, hear(stream, state.to_owned())));
                    }
                }
                Some(heard) = open.join_next() => {
                    if let Ok(Ok(Some(told))) = heard {
                        return told;
                    }
                }
            }
        }
    }
}

impl Browser {
    /// Shows the result of the login in the browser, if it is still connected.
    pub async fn tell<T>(self, outcome: &Result<T, LoginError>) {
        let page = if outcome.is_ok() { LOGGED_IN } else { FAILED };
        let _ = timeout(PAGE, respond(self.0, "200 OK", page)).await;
    }
}

/// Reads one request; `None` if it does not carry the state of this login.
async fn hear(mut stream: TcpStream, state: String) -> Option<(Told, Browser)> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split_ascii_whitespace();
    let target = words.next().filter(|method| *method == "GET").and(words.next());
    match target.and_then(|target| Url::parse(&format!("http://127.0.0.1{target}")).ok()) {
        Some(url) if url.path() == PATH => {
            let told = read(&url);
            if secrecy::are_equal(&told.state, &state) {
                return Some((told, Browser(stream)));
            }
            respond(stream, "400 Bad Request", NOT_OURS).await;
            None
        }
        _ => {
            respond(stream, "404 Not Found", ELSEWHERE).await;
            None
        }
    }
}

fn read(url: &Url) -> Told {
    let mut told = Told::default();
    for (name, value) in url.query_pairs() {
        let value = value.into_owned();
        match &*name {
            "state" => told.state = value,
            "code" => told.code = Some(Token::new(value)),
            "iss" => told.issuer = Some(value),
            "error" => told.error = Some(value),
            "error_description" => told.error_description = Some(value),
            _ => {}
        }
    }
    told
}

/// Sends a page. The page contains nothing from the request.
async fn respond(mut stream: TcpStream, status: &str, text: &str) {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>onecall</title>\
         <body style=\"font-family: sans-serif; margin: 4em\"><p>{text}</p></body></html>\n"
    );
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n{page}",
        page.len()
    );
    // The browser may have disconnected.
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}
