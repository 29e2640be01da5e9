//! An authorization server that agrees to everything, or misbehaves on demand. It runs in the
//! process of the test, which can inspect its requests and end tokens.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::fixture::http_message::{HttpRequest, Wire};
use crate::web::{encoded, fields};

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
pub struct Asked {
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
    state: Arc<Mutex<State>>,
}

struct State {
    misbehaviour: Option<Misbehaviour>,
    /// Fields of its metadata that are replaced by other values.
    claims: BTreeMap<String, Value>,
    lifetime: Option<u64>,
    next: u64,
    asked: Vec<Asked>,
    /// The request that each code belongs to.
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// The scopes of each valid access token.
    access: BTreeMap<String, String>,
    refresh: BTreeMap<String, String>,
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
        let state = Arc::new(Mutex::new(State {
            misbehaviour: None,
            claims: BTreeMap::new(),
            lifetime: Some(3_600),
            next: 1,
            asked: Vec::new(),
            codes: BTreeMap::new(),
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            secrets: Vec::new(),
        }));
        let server = Self { address: address.clone(), state: Arc::clone(&state) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, address) = (Arc::clone(&state), address.clone());
                thread::spawn(move || converse(stream, &state, &address));
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
    pub fn claim(&self, field: &str, value: impl Into<Value>) {
        self.lock().claims.insert(field.to_owned(), value.into());
    }

    /// A URL of this server with another origin.
    #[must_use]
    pub fn other_origin(&self) -> String {
        self.issuer().replace("127.0.0.1", "localhost")
    }

    /// Sets how many seconds tokens last that are issued from now on.
    pub fn give_tokens_for(&self, seconds: u64) {
        self.lock().lifetime = Some(seconds);
    }

    /// Invalidates every access token.
    pub fn end_tokens(&self) {
        self.lock().access.clear();
    }

    /// Ends every login: all tokens become invalid.
    pub fn end_logins(&self) {
        let mut state = self.lock();
        state.access.clear();
        state.refresh.clear();
    }

    /// The number of valid access tokens and of valid refresh tokens.
    #[must_use]
    pub fn valid_tokens(&self) -> (usize, usize) {
        let state = self.lock();
        (state.access.len(), state.refresh.len())
    }

    /// The requests to this path so far.
    #[must_use]
    pub fn asked(&self, path: &str) -> Vec<Asked> {
        self.lock().asked.iter().filter(|asked| asked.path == path).cloned().collect()
    }

    /// How often tokens were renewed so far.
    #[must_use]
    pub fn renewals(&self) -> usize {
        let asked = self.asked("/token");
        asked.iter().filter(|it| it.fields["grant_type"] == "refresh_token").count()
    }

    /// Every code and token that was ever issued.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.lock().secrets.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn converse(stream: TcpStream, state: &Mutex<State>, address: &str) {
    let Ok(mut wire) = Wire::new(stream) else { return };
    while let Ok(Some(request)) = wire.request() {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let issuer = format!("http://{address}");
        let Answer { status, headers, body } = state.answer(&request, &issuer);
        let headers: Vec<(&str, String)> = headers.into_iter().collect();
        if wire.respond_with(status, "application/json", &headers, &body).is_err() {
            return;
        }
    }
}

struct Answer {
    status: u16,
    headers: Option<(&'static str, String)>,
    body: String,
}

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: None, body: body.to_string() }
    }

    fn error(error: &str, description: &str) -> Self {
        Self::json(400, &json!({ "error": error, "error_description": description }))
    }
}

impl State {
    fn answer(&mut self, request: &HttpRequest, issuer: &str) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let text = if query.is_empty() { &request.body } else { query };
        let asked = Asked {
            path: path.to_owned(),
            fields: fields(text).into_iter().collect(),
            body: request.body.clone(),
            authorization: request.header("authorization").map(str::to_owned),
        };
        if path != "/introspect" {
            self.asked.push(asked.clone());
        }
        match path {
            "/.well-known/oauth-authorization-server" => self.metadata(issuer),
            "/register" => self.register(&asked),
            "/authorize" => self.authorize(&asked, issuer),
            "/token" => self.token(&asked),
            "/revoke" => {
                self.access.remove(&asked.fields["token"]);
                self.refresh.remove(&asked.fields["token"]);
                Answer::json(200, &json!({}))
            }
            "/introspect" => match self.access.get(&asked.fields["token"]) {
                Some(scope) => Answer::json(200, &json!({ "active": true, "scope": scope })),
                None => Answer::json(200, &json!({ "active": false })),
            },
            _ => Answer::json(404, &json!({})),
        }
    }

    fn metadata(&self, issuer: &str) -> Answer {
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
            Some(Misbehaviour::NoMetadata) => return Answer::json(404, &json!({})),
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
        for (field, value) in &self.claims {
            metadata[field] = value.clone();
        }
        Answer::json(200, &metadata)
    }

    fn register(&mut self, asked: &Asked) -> Answer {
        let wanted: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let id = self.fresh("client");
        Answer::json(
            201,
            &json!({ "client_id": id, "redirect_uris": wanted["redirect_uris"],
                     "token_endpoint_auth_method": "none" }),
        )
    }

    /// Agrees to an authorization request.
    fn authorize(&mut self, asked: &Asked, issuer: &str) -> Answer {
        let given = &asked.fields;
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
            let code = self.secret("code");
            self.codes.insert(code.clone(), given.clone());
            answer.push(("code", code));
        }
        answer.push(("state", state));
        answer.extend(from.map(|from| ("iss", from)));
        let answer: Vec<String> =
            answer.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let location = format!("{}?{}", given["redirect_uri"], answer.join("&"));
        Answer { status: 302, headers: Some(("Location", location)), body: String::new() }
    }

    fn token(&mut self, asked: &Asked) -> Answer {
        let field = |name: &str| asked.fields.get(name).map_or("", String::as_str);
        let scope = match field("grant_type") {
            "authorization_code" => {
                let code = field("code");
                if self.misbehaviour == Some(Misbehaviour::TokenError) {
                    return Answer::error("server_error", &format!("no token for {code} today"));
                }
                let Some(given) = self.codes.remove(code) else {
                    return Answer::error("invalid_grant", "unknown code");
                };
                let challenge = challenge_for(field("code_verifier"));
                if given.get("code_challenge") != Some(&challenge) {
                    return Answer::error("invalid_grant", "wrong verifier");
                }
                // A client that authenticates in the header need not name itself in the form.
                let is_named = asked.authorization.is_none();
                let same = ["redirect_uri", "resource", "client_id"];
                let same = &same[..if is_named { 3 } else { 2 }];
                if same.iter().any(|name| given[*name] != field(name)) {
                    return Answer::error("invalid_grant", "not what was authorized");
                }
                given.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => {
                if self.misbehaviour == Some(Misbehaviour::RefreshFails) {
                    return Answer::json(503, &json!({}));
                }
                // Each refresh token can be used once.
                let Some(scope) = self.refresh.remove(field("refresh_token")) else {
                    return Answer::error("invalid_grant", "unknown refresh token");
                };
                scope
            }
            _ => return Answer::error("unsupported_grant_type", ""),
        };
        let (access, refresh) = (self.secret("access"), self.secret("refresh"));
        self.access.insert(access.clone(), scope.clone());
        self.refresh.insert(refresh.clone(), scope.clone());
        let mut answer = json!({ "access_token": access, "token_type": "bearer",
                                 "refresh_token": refresh, "scope": scope });
        if let Some(seconds) = self.lifetime {
            answer["expires_in"] = seconds.into();
        }
        Answer::json(200, &answer)
    }

    fn secret(&mut self, kind: &str) -> String {
        let secret = format!("{}-of-the-fixture", self.fresh(kind));
        self.secrets.push(secret.clone());
        secret
    }

    fn fresh(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}-{}", self.next)
    }
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
