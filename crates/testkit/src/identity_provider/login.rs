//! The login with an authorization code: a redirect back to the client with a code, and a token for the
//! code and its PKCE verifier.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Response;
use crate::web::{parse_fields, percent_encode};

/// Logs everybody in with the same token.
pub(super) struct CodeLogin {
    token: String,
    /// The PKCE challenge of each code that was not used yet.
    challenges: BTreeMap<String, String>,
    count: usize,
}

impl CodeLogin {
    pub(super) fn new(token: &str) -> Self {
        Self { token: token.to_owned(), challenges: BTreeMap::new(), count: 0 }
    }

    /// Agrees to an authorization request.
    pub(super) fn authorize(&mut self, query: &str) -> Response {
        let fields: BTreeMap<String, String> = parse_fields(query).into_iter().collect();
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        self.count += 1;
        let code = format!("code-{}", self.count);
        self.challenges.insert(code.clone(), field("code_challenge"));
        let state = percent_encode(&field("state"));
        let location = format!("{}?code={code}&state={state}", field("redirect_uri"));
        (302, vec![("Location", location)], String::new())
    }

    /// Gives the token for a code, once.
    pub(super) fn token(&mut self, form: &str) -> Response {
        let fields: BTreeMap<String, String> = parse_fields(form).into_iter().collect();
        let field = |name: &str| fields.get(name).map_or("", String::as_str);
        let challenge = self.challenges.remove(field("code"));
        let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
        if challenge != Some(verifier) {
            let error = json!({ "error": "invalid_grant" });
            return (400, Vec::new(), error.to_string());
        }
        let granted =
            json!({ "access_token": self.token, "token_type": "Bearer", "expires_in": 3600 });
        (200, Vec::new(), granted.to_string())
    }
}
