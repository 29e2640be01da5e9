//! An authorization server that agrees to everything, or misbehaves on demand. It
//! lives in the process of the test, which looks at what it was asked and ends
//! tokens as it likes.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::fixture::http_message::{HttpRequest, Wire};
use crate::web::{encoded, fields};

/// How an authorization server goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    /// It sends the browser back in the name of another issuer.
    WrongIssuer,
    /// It sends the browser back without saying who it is, although it promised to.
    NoIssuer,
    /// It sends the browser back with a refusal.
    Denied,
    /// Its metadata do not mention S256.
    NoS256,
    /// Its metadata are of another issuer.
    ForeignMetadata,
    /// Its metadata name a token endpoint elsewhere that is not encrypted.
    InsecureEndpoint,
    /// It has no metadata.
    NoMetadata,
    /// It registers nobody.
    NoRegistration,
    /// It gives no token for a code, and repeats the code.
    TokenError,
    /// It gives no token for an older one, for now.
    RefreshFails,
}

/// One request to it: its path and the fields of its query or form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Without the query.
    pub path: String,
    /// Of the query, or of the form.
    pub fields: BTreeMap<String, String>,
    /// The body as it came.
    pub body: String,
    /// The header `Authorization`.
    pub authorization: Option<String>,
}

/// A running authorization server, for as long as the process lives.
pub struct AuthorizationServer {
    address: String,
    state: Arc<Mutex<State>>,
}

struct State {
    misbehaviour: Option<Misbehaviour>,
    /// What its metadata say in the place of the truth.
    claims: BTreeMap<String, Value>,
    lifetime: Option<u64>,
    next: u64,
    asked: Vec<Asked>,
    /// What each code is for.
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// The scopes of each token that is worth something.
    access: BTreeMap<String, String>,
    refresh: BTreeMap<String, String>,
    /// Every code and token that was ever given.
    secrets: Vec<String>,
}

impl AuthorizationServer {
    /// Starts it. Its tokens last an hour.
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

    /// The same, misbehaving.
    #[must_use]
    pub fn misbehaving(how: Misbehaviour) -> Self {
        let server = Self::start();
        server.misbehave(Some(how));
        server
    }

    /// What it calls itself.
    #[must_use]
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes it misbehave from now on, or not any more.
    pub fn misbehave(&self, how: Option<Misbehaviour>) {
        self.lock().misbehaviour = how;
    }

    /// Has its metadata say `value` about `field` from now on.
    pub fn claim(&self, field: &str, value: impl Into<Value>) {
        self.lock().claims.insert(field.to_owned(), value.into());
    }

    /// An address of this server at another origin of this machine.
    #[must_use]
    pub fn other_origin(&self) -> String {
        self.issuer().replace("127.0.0.1", "localhost")
    }

    /// How long tokens that it gives from now on last, in seconds.
    pub fn give_tokens_for(&self, seconds: u64) {
        self.lock().lifetime = Some(seconds);
    }

    /// Ends every access token.
    pub fn end_tokens(&self) {
        self.lock().access.clear();
    }

    /// Ends every login: no token is worth anything any more.
    pub fn end_logins(&self) {
        let mut state = self.lock();
        state.access.clear();
        state.refresh.clear();
    }

    /// How many tokens of either kind are worth something.
    #[must_use]
    pub fn valid_tokens(&self) -> (usize, usize) {
        let state = self.lock();
        (state.access.len(), state.refresh.len())
    }

    /// What it was asked at this path so far.
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

    /// Every code and token that it ever gave.
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

    /// Agrees in the name of whoever asks.
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
                // Whoever proves in the header who they are need not say so in the form.
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
                // Each is worth one new token.
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
