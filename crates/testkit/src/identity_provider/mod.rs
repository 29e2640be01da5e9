//! An identity provider (OpenID Connect) that runs in the process of the test. The test chooses its
//! keys and tokens, and when it fails, is slow or lies.

mod keys;
mod login;
mod token;

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

pub use self::keys::SigningKey;
use self::login::CodeLogin;
pub use self::token::{TokenDraft, in_seconds};
use crate::fixture::http_message::HttpConnection;

const METADATA: &str = "/.well-known/openid-configuration";
const OAUTH_METADATA: &str = "/.well-known/oauth-authorization-server";
const KEYS: &str = "/keys";

/// How the provider answers requests for its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyAnswer {
    /// The keys.
    Good,
    /// An error.
    Failing,
    /// Nothing, until the test chooses another answer.
    Silent,
    /// A document of this many bytes, which begins with the keys.
    Large(usize),
    /// A redirect to the keys at another path.
    Redirect,
    /// This text.
    Text(String),
}

/// A running identity provider, which runs as long as the process.
pub struct IdentityProvider {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<ProviderState>,
    changed: Condvar,
}

struct ProviderState {
    /// Public keys as the key set has them.
    keys: Vec<Value>,
    answer: KeyAnswer,
    /// Whether there are metadata of OpenID Connect, or only those of RFC 8414.
    has_openid_metadata: bool,
    /// Replaces the issuer in the metadata.
    issuer: Option<String>,
    /// Replaces the address of the keys in the metadata.
    keys_address: Option<String>,
    /// Answers logins in the browser, if the test has said who logs in.
    login: Option<CodeLogin>,
    /// The paths of all requests.
    requests: Vec<String>,
}

impl IdentityProvider {
    /// Starts a provider without keys.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at("127.0.0.1:0")
    }

    /// Starts a provider at this address.
    ///
    /// # Panics
    /// If the port is not free.
    #[must_use]
    pub fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = ProviderState {
            keys: Vec::new(),
            answer: KeyAnswer::Good,
            has_openid_metadata: true,
            issuer: None,
            keys_address: None,
            login: None,
            requests: Vec::new(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let provider = Self { address: address.clone(), shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, address) = (Arc::clone(&shared), address.clone());
                thread::spawn(move || serve_connection(stream, &shared, &address));
            }
        });
        provider
    }

    /// The name of the issuer, which is its address.
    #[must_use]
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A new key, which the key set contains from now on.
    #[must_use]
    pub fn add_key(&self, id: &str, algorithm: &'static str) -> SigningKey {
        let key = SigningKey::new(id, algorithm);
        self.lock().keys.push(key.public());
        key
    }

    /// Replaces the whole key set by these public keys.
    pub fn set_keys(&self, keys: Vec<Value>) {
        self.lock().keys = keys;
    }

    /// Answers requests for keys in this way from now on.
    pub fn answer(&self, answer: KeyAnswer) {
        self.lock().answer = answer;
        self.shared.changed.notify_all();
    }

    /// Publishes metadata only as RFC 8414 says.
    pub fn publish_oauth_metadata_only(&self) {
        self.lock().has_openid_metadata = false;
    }

    /// Names another issuer in the metadata from now on.
    pub fn pretend_to_be(&self, issuer: &str) {
        self.lock().issuer = Some(issuer.to_owned());
    }

    /// Names another address of the keys in the metadata from now on.
    pub fn move_keys(&self, address: &str) {
        self.lock().keys_address = Some(address.to_owned());
    }

    /// Logs everybody in who comes with a browser from now on: the token endpoint gives this token for
    /// a code.
    pub fn log_in_with(&self, token: &str) {
        self.lock().login = Some(CodeLogin::new(token));
    }

    /// Logs everybody in who comes with a browser as the user of this ID token. It gets the nonce of the
    /// login, unless it has one.
    pub fn log_in_as(&self, draft: TokenDraft, key: SigningKey) {
        self.lock().login = Some(CodeLogin::with_identity(draft, key));
    }

    /// Logs the person out: a login that may ask nothing fails from now on.
    pub fn log_out(&self) {
        if let Some(login) = &mut self.lock().login {
            login.is_logged_in = false;
        }
    }

    /// How often the keys were requested.
    #[must_use]
    pub fn key_requests(&self) -> usize {
        self.lock().requests.iter().filter(|path| *path == KEYS).count()
    }

    /// The paths of all requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> MutexGuard<'_, ProviderState> {
        self.shared.lock()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, ProviderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to answer, once it is not to be silent.
    fn answer(&self) -> (KeyAnswer, Value) {
        let mut state = self.lock();
        while state.answer == KeyAnswer::Silent {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (state.answer.clone(), json!({ "keys": state.keys }))
    }
}

fn serve_connection(stream: TcpStream, shared: &Shared, address: &str) {
    let Ok(mut connection) = HttpConnection::new(stream) else { return };
    while let Ok(Some(request)) = connection.request() {
        let path = request.path.split('?').next().unwrap_or_default().to_owned();
        shared.lock().requests.push(path.clone());
        let (status, headers, body) = match path.as_str() {
            METADATA | OAUTH_METADATA => metadata(shared, address, &path),
            KEYS => keys(shared, address),
            "/authorize" | "/token" => {
                let query = request.path.split_once('?').map_or("", |(_, query)| query);
                match &mut shared.lock().login {
                    Some(login) if path == "/authorize" => login.authorize(query),
                    Some(login) => login.token(&request.body),
                    None => (404, Vec::new(), "{}".to_owned()),
                }
            }
            "/moved-keys" => {
                let keys = json!({ "keys": shared.lock().keys });
                (200, Vec::new(), keys.to_string())
            }
            _ => (404, Vec::new(), "{}".to_owned()),
        };
        if connection.respond_with(status, "application/json", &headers, &body).is_err() {
            return;
        }
    }
}

type Response = (u16, Vec<(&'static str, String)>, String);

fn metadata(shared: &Shared, address: &str, path: &str) -> Response {
    let state = shared.lock();
    if path == METADATA && !state.has_openid_metadata {
        return (404, Vec::new(), "{}".to_owned());
    }
    let own = format!("http://{address}");
    let metadata = json!({
        "issuer": state.issuer.as_ref().unwrap_or(&own),
        "authorization_endpoint": format!("{own}/authorize"),
        "token_endpoint": format!("{own}/token"),
        "jwks_uri": state.keys_address.clone().unwrap_or_else(|| format!("{own}{KEYS}")),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    });
    (200, Vec::new(), metadata.to_string())
}

fn keys(shared: &Shared, address: &str) -> Response {
    let (answer, keys) = shared.answer();
    match answer {
        KeyAnswer::Good | KeyAnswer::Silent => (200, Vec::new(), keys.to_string()),
        KeyAnswer::Failing => (500, Vec::new(), "{}".to_owned()),
        KeyAnswer::Large(bytes) => (200, Vec::new(), format!("{:<bytes$}", keys.to_string())),
        KeyAnswer::Redirect => {
            (302, vec![("Location", format!("http://{address}/moved-keys"))], String::new())
        }
        KeyAnswer::Text(text) => (200, Vec::new(), text),
    }
}
