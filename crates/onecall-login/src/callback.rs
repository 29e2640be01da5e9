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
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest head of a request, and the number of concurrent connections.
const MAX_HEAD: usize = 32 * 1024;
const MAX_OPEN: usize = 64;

const LOGGED_IN: &str = "You are logged in. You can close this page.";
const LOGIN_FAILED: &str =
    "The login did not work. The terminal says why; you can close this page.";
const WRONG_STATE: &str = "This page does not belong to the login in progress.";
const NOT_FOUND: &str = "There is nothing here.";

pub(crate) struct CallbackListener {
    listener: TcpListener,
    redirect: String,
}

/// The parameters that the authorization server passes through the browser.
#[derive(Debug, Default)]
pub struct AuthorizationResponse {
    pub(crate) state: String,
    pub(crate) code: Option<Token>,
    pub(crate) issuer: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) error_description: Option<String>,
}

impl AuthorizationResponse {
    /// Reads the parameters from the query of the address that the browser was sent to.
    #[must_use]
    pub fn parse(query: &str) -> Self {
        let mut response = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            match &*name {
                "state" => response.state = value,
                "code" => response.code = Some(Token::new(value)),
                "iss" => response.issuer = Some(value),
                "error" => response.error = Some(value),
                "error_description" => response.error_description = Some(value),
                _ => {}
            }
        }
        response
    }

    /// The value that names the login which the response belongs to.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }
}

/// A browser that is waiting for a page.
pub(crate) struct Browser(TcpStream);

impl CallbackListener {
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
    pub async fn wait_for_response(&self, state: &str) -> (AuthorizationResponse, Browser) {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if open.len() < MAX_OPEN => {
                    if let Ok((stream, _)) = accepted {
                        open.spawn(timeout(REQUEST_TIMEOUT, read_request(stream, state.to_owned())));
                    }
                }
                Some(received) = open.join_next() => {
                    if let Ok(Ok(Some(response))) = received {
                        return response;
                    }
                }
            }
        }
    }
}

impl Browser {
    /// Shows the result of the login in the browser, if it is still connected.
    pub async fn show_outcome<T>(self, outcome: &Result<T, LoginError>) {
        let page = if outcome.is_ok() { LOGGED_IN } else { LOGIN_FAILED };
        let _ = timeout(PAGE_TIMEOUT, respond(self.0, "200 OK", page)).await;
    }
}

/// Reads one request; `None` if it does not carry the state of this login.
async fn read_request(
    mut stream: TcpStream,
    state: String,
) -> Option<(AuthorizationResponse, Browser)> {
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
            let response = AuthorizationResponse::parse(url.query().unwrap_or_default());
            if secrecy::constant_time_eq(&response.state, &state) {
                return Some((response, Browser(stream)));
            }
            respond(stream, "400 Bad Request", WRONG_STATE).await;
            None
        }
        _ => {
            respond(stream, "404 Not Found", NOT_FOUND).await;
            None
        }
    }
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
