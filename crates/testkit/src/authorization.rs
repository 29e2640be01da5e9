//! An authorization server that agrees to everything, or misbehaves on demand. It runs in the
//! process of the test, which can inspect its requests and end tokens.

mod refresh_gate;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::refresh_gate::RefreshGate;
use crate::fixture::http_message::{HttpConnection, HttpRequest};
use crate::web::{parse_fields, percent_encode};

/// How an authorization server misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    /// The server redirects the browser in the name of another issuer.
    WrongIssuer,
    /// The server redirects the browser without its issuer, although its metadata promise one.
    NoIssuer,
    /// The server redirects the browser with a refusal.
    Denied,
    /// The server's metadata do not mention S256.
    NoS256,
    /// The server's metadata are those of another issuer.
    ForeignMetadata,
    /// The server's metadata name a token endpoint on another host that is not encrypted.
    InsecureEndpoint,
    /// The server has no metadata.
    NoMetadata,
    /// The server does not register clients.
    NoRegistration,
    /// The server gives no token for a code, and repeats the code in its error.
    TokenError,
    /// The server refuses to renew tokens, for now.
    RefreshFails,
}

/// One request: its path and the fields of its query or form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The path without the query.
    pub path: String,
    /// The fields of the query or of the form.
    pub fields: BTreeMap<String, String>,
    /// The body as it was received.
    pub body: String,
    /// The header `Authorization`.
    pub authorization: Option<String>,
}

/// A running authorization server, which runs as long as the process.
pub struct AuthorizationServer {
    address: String,
    state: Arc<Mutex<AuthorizationState>>,
    gate: Arc<RefreshGate>,
}

struct AuthorizationState {
    misbehaviour: Option<Misbehaviour>,
    /// Fields of its metadata that are replaced by other values.
    metadata_overrides: BTreeMap<String, Value>,
    lifetime: Option<u64>,
    /// Whether a page asks for the account that the person at the browser logs in with.
    has_login_page: bool,
    /// The account that each code and token belongs to.
    accounts: BTreeMap<String, String>,
    last_number: u64,
    requests: Vec<ReceivedRequest>,
    /// The request that each code belongs to.
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// The scopes of each valid access token.
    access_tokens: BTreeMap<String, String>,
    refresh_tokens: BTreeMap<String, String>,
    /// The refresh tokens that were used. One that comes again was stolen, so it ends every login.
    used_refresh_tokens: BTreeSet<String>,
    /// Every code and token that was ever issued.
    secrets: Vec<String>,
}

impl AuthorizationServer {
    /// Starts the server. Its tokens last an hour.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = Arc::new(Mutex::new(AuthorizationState {
            misbehaviour: None,
            metadata_overrides: BTreeMap::new(),
            lifetime: Some(3_600),
            has_login_page: false,
            accounts: BTreeMap::new(),
            last_number: 1,
            requests: Vec::new(),
            codes: BTreeMap::new(),
            access_tokens: BTreeMap::new(),
            refresh_tokens: BTreeMap::new(),
            used_refresh_tokens: BTreeSet::new(),
            secrets: Vec::new(),
        }));
        let gate = Arc::<RefreshGate>::default();
        let server =
            Self { address: address.clone(), state: Arc::clone(&state), gate: Arc::clone(&gate) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, gate) = (Arc::clone(&state), Arc::clone(&gate));
                let address = address.clone();
                thread::spawn(move || serve_connection(stream, &state, &gate, &address));
            }
        });
        server
    }

    /// Starts a server that misbehaves.
    #[must_use]
    pub fn misbehaving(how: Misbehaviour) -> Self {
        let server = Self::start();
        server.misbehave(Some(how));
        server
    }

    /// Starts a server with a login page, which asks for the name of an account. A token belongs to its
    /// account, and its introspection names the account as `sub`.
    #[must_use]
    pub fn with_login_page() -> Self {
        let server = Self::start();
        server.lock().has_login_page = true;
        server
    }

    /// The issuer that the server names itself.
    #[must_use]
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes the server misbehave from now on, or behave again.
    pub fn misbehave(&self, how: Option<Misbehaviour>) {
        self.lock().misbehaviour = how;
    }

    /// Replaces the value of `field` in its metadata from now on.
    pub fn override_metadata(&self, field: &str, value: impl Into<Value>) {
        self.lock().metadata_overrides.insert(field.to_owned(), value.into());
    }

    /// A URL of this server with another origin.
    #[must_use]
    pub fn other_origin(&self) -> String {
        self.issuer().replace("127.0.0.1", "localhost")
    }

    /// Sets how many seconds tokens last that are issued from now on.
    pub fn set_token_lifetime(&self, seconds: u64) {
        self.lock().lifetime = Some(seconds);
    }

    /// Invalidates every access token.
    pub fn revoke_access_tokens(&self) {
        self.lock().access_tokens.clear();
    }

    /// Ends every login: all tokens become invalid.
    pub fn revoke_all_tokens(&self) {
        let mut state = self.lock();
        state.access_tokens.clear();
        state.refresh_tokens.clear();
    }

    /// Lets requests that renew tokens wait from now on.
    pub fn hold_refreshes(&self) {
        self.gate.close();
    }

    /// Answers the requests that wait, and later ones at once.
    pub fn release_refreshes(&self) {
        self.gate.open();
    }

    /// Leaves the requests that wait now without an answer: nothing is renewed for them, and they no
    /// longer count as held.
    pub fn ignore_held_refreshes(&self) {
        self.gate.ignore_waiting();
    }

    /// How many requests that renew tokens wait.
    #[must_use]
    pub fn held_refreshes(&self) -> usize {
        self.gate.waiting()
    }

    /// The number of valid access tokens and of valid refresh tokens.
    #[must_use]
    pub fn valid_tokens(&self) -> (usize, usize) {
        let state = self.lock();
        (state.access_tokens.len(), state.refresh_tokens.len())
    }

    /// The requests to this path so far.
    #[must_use]
    pub fn requests_to(&self, path: &str) -> Vec<ReceivedRequest> {
        self.lock().requests.iter().filter(|request| request.path == path).cloned().collect()
    }

    /// How often tokens were renewed so far.
    #[must_use]
    pub fn refresh_count(&self) -> usize {
        let requests = self.requests_to("/token");
        requests.iter().filter(|it| it.fields["grant_type"] == "refresh_token").count()
    }

    /// Every code and token that was ever issued.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.lock().secrets.clone()
    }

    fn lock(&self) -> MutexGuard<'_, AuthorizationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve_connection(
    stream: TcpStream,
    state: &Mutex<AuthorizationState>,
    gate: &RefreshGate,
    address: &str,
) {
    let Ok(mut connection) = HttpConnection::new(stream) else { return };
    while let Ok(Some(request)) = connection.request() {
        if request.body.contains("grant_type=refresh_token") && !gate.pass() {
            return;
        }
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let issuer = format!("http://{address}");
        let HttpResponse { status, headers, body } = state.answer(&request, &issuer);
        let headers: Vec<(&str, String)> = headers.into_iter().collect();
        if connection.respond_with(status, "application/json", &headers, &body).is_err() {
            return;
        }
    }
}

struct HttpResponse {
    status: u16,
    headers: Option<(&'static str, String)>,
    body: String,
}

impl HttpResponse {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: None, body: body.to_string() }
    }

    fn error(error: &str, description: &str) -> Self {
        Self::json(400, &json!({ "error": error, "error_description": description }))
    }
}

impl AuthorizationState {
    fn answer(&mut self, request: &HttpRequest, issuer: &str) -> HttpResponse {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let fields = [query, &request.body].map(parse_fields).concat();
        let received = ReceivedRequest {
            path: path.to_owned(),
            fields: fields.into_iter().collect(),
            body: request.body.clone(),
            authorization: request.header("authorization").map(str::to_owned),
        };
        if path != "/introspect" {
            self.requests.push(received.clone());
        }
        match path {
            "/.well-known/oauth-authorization-server" => self.metadata(issuer),
            "/register" => self.register(&received),
            "/authorize" => self.authorize(&received, issuer),
            "/token" => self.token(&received),
            "/revoke" => {
                self.access_tokens.remove(&received.fields["token"]);
                self.refresh_tokens.remove(&received.fields["token"]);
                HttpResponse::json(200, &json!({}))
            }
            "/introspect" => HttpResponse::json(200, &self.introspect(&received.fields["token"])),
            _ => HttpResponse::json(404, &json!({})),
        }
    }

    fn introspect(&self, token: &str) -> Value {
        let account = self.accounts.get(token);
        match self.access_tokens.get(token) {
            Some(scope) => json!({ "active": true, "scope": scope, "sub": account }),
            None => json!({ "active": false }),
        }
    }

    fn metadata(&self, issuer: &str) -> HttpResponse {
        let mut metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"),
            "revocation_endpoint": format!("{issuer}/revoke"),
            "code_challenge_methods_supported": ["plain", "S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        match self.misbehaviour {
            Some(Misbehaviour::NoMetadata) => return HttpResponse::json(404, &json!({})),
            Some(Misbehaviour::NoS256) => {
                metadata["code_challenge_methods_supported"] = json!(["plain"]);
            }
            Some(Misbehaviour::ForeignMetadata) => {
                metadata["issuer"] = "https://bank.example".into();
            }
            Some(Misbehaviour::InsecureEndpoint) => {
                metadata["token_endpoint"] = "http://token.example/token".into();
            }
            Some(Misbehaviour::NoRegistration) => {
                metadata["registration_endpoint"] = Value::Null;
            }
            _ => {}
        }
        for (field, value) in &self.metadata_overrides {
            metadata[field] = value.clone();
        }
        HttpResponse::json(200, &metadata)
    }

    fn register(&mut self, received: &ReceivedRequest) -> HttpResponse {
        let wanted: Value = serde_json::from_str(&received.body).unwrap_or_default();
        let id = self.unique_name("client");
        HttpResponse::json(
            201,
            &json!({ "client_id": id, "redirect_uris": wanted["redirect_uris"],
                     "token_endpoint_auth_method": "none" }),
        )
    }

    /// Agrees to an authorization request.
    fn authorize(&mut self, received: &ReceivedRequest, issuer: &str) -> HttpResponse {
        let given = &received.fields;
        if self.has_login_page && !given.contains_key("login") {
            return login_page(given);
        }
        let state = given["state"].clone();
        let mut answer = Vec::new();
        let mut from = Some(issuer.to_owned());
        match self.misbehaviour {
            Some(Misbehaviour::WrongIssuer) => from = Some("https://bank.example".to_owned()),
            Some(Misbehaviour::NoIssuer) => from = None,
            _ => {}
        }
        if self.misbehaviour == Some(Misbehaviour::Denied) {
            answer.push(("error", "access_denied".to_owned()));
            answer.push(("error_description", "The user said\u{1b}[31m no".to_owned()));
        } else {
            let code = self.issue_secret("code", given.get("login"));
            self.codes.insert(code.clone(), given.clone());
            answer.push(("code", code));
        }
        answer.push(("state", state));
        answer.extend(from.map(|from| ("iss", from)));
        let answer: Vec<String> = answer
            .iter()
            .map(|(name, value)| format!("{name}={}", percent_encode(value)))
            .collect();
        let location = format!("{}?{}", given["redirect_uri"], answer.join("&"));
        HttpResponse { status: 302, headers: Some(("Location", location)), body: String::new() }
    }

    fn token(&mut self, received: &ReceivedRequest) -> HttpResponse {
        let field = |name: &str| received.fields.get(name).map_or("", String::as_str);
        let account =
            ["code", "refresh_token"].iter().find_map(|name| self.accounts.get(field(name)));
        let account = account.cloned();
        let scope = match field("grant_type") {
            "authorization_code" => {
                let code = field("code");
                if self.misbehaviour == Some(Misbehaviour::TokenError) {
                    return HttpResponse::error(
                        "server_error",
                        &format!("no token for {code} today"),
                    );
                }
                let Some(given) = self.codes.remove(code) else {
                    return HttpResponse::error("invalid_grant", "unknown code");
                };
                let challenge = challenge_for(field("code_verifier"));
                if given.get("code_challenge") != Some(&challenge) {
                    return HttpResponse::error("invalid_grant", "wrong verifier");
                }
                // A client that authenticates in the header need not name itself in the form.
                let is_named = received.authorization.is_none();
                let same = ["redirect_uri", "resource", "client_id"];
                let same = &same[..if is_named { 3 } else { 2 }];
                if same.iter().any(|name| given[*name] != field(name)) {
                    return HttpResponse::error("invalid_grant", "not what was authorized");
                }
                given.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => {
                if self.misbehaviour == Some(Misbehaviour::RefreshFails) {
                    return HttpResponse::json(503, &json!({}));
                }
                // Each refresh token can be used once.
                let token = field("refresh_token");
                if self.used_refresh_tokens.contains(token) {
                    self.access_tokens.clear();
                    self.refresh_tokens.clear();
                    return HttpResponse::error("invalid_grant", "reused refresh token");
                }
                let Some(scope) = self.refresh_tokens.remove(token) else {
                    return HttpResponse::error("invalid_grant", "unknown refresh token");
                };
                self.used_refresh_tokens.insert(token.to_owned());
                scope
            }
            _ => return HttpResponse::error("unsupported_grant_type", ""),
        };
        let [access, refresh] =
            ["access", "refresh"].map(|kind| self.issue_secret(kind, account.as_ref()));
        self.access_tokens.insert(access.clone(), scope.clone());
        self.refresh_tokens.insert(refresh.clone(), scope.clone());
        let mut answer = json!({ "access_token": access, "token_type": "bearer",
                                 "refresh_token": refresh, "scope": scope });
        if let Some(seconds) = self.lifetime {
            answer["expires_in"] = seconds.into();
        }
        HttpResponse::json(200, &answer)
    }

    fn issue_secret(&mut self, kind: &str, account: Option<&String>) -> String {
        let secret = format!("{}-of-the-fixture", self.unique_name(kind));
        self.secrets.push(secret.clone());
        if let Some(account) = account {
            self.accounts.insert(secret.clone(), account.clone());
        }
        secret
    }

    fn unique_name(&mut self, kind: &str) -> String {
        self.last_number += 1;
        format!("{kind}-{}", self.last_number)
    }
}

/// A page that asks for an account, and sends the whole request again with it.
fn login_page(request: &BTreeMap<String, String>) -> HttpResponse {
    let hidden = request.iter().map(|(name, value)| {
        let value = value.replace('&', "&amp;").replace('"', "&quot;");
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">")
    });
    let hidden: String = hidden.collect();
    let form = "<form method=\"post\" action=\"/authorize\">";
    let body = format!("{form}{hidden}<input type=\"text\" name=\"login\"></form>");
    HttpResponse { status: 200, headers: None, body }
}

fn challenge_for(verifier: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let hash = Sha256::digest(verifier.as_bytes());
    let bits = hash.iter().flat_map(|byte| (0..8).rev().map(move |shift| byte >> shift & 1));
    let bits: Vec<u8> = bits.collect();
    let digit = |group: &[u8]| {
        let value = (0..6).fold(0, |value, at| value << 1 | group.get(at).copied().unwrap_or(0));
        char::from(DIGITS[usize::from(value)])
    };
    bits.chunks(6).map(digit).collect()
}
