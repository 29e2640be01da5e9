//! The login with an authorization code: a redirect back to the client with a code, and a token for the
//! code and its PKCE verifier.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Response, SigningKey, TokenDraft};
use crate::web::{parse_fields, percent_encode};

/// Logs everybody in with the same token.
pub(super) struct CodeLogin {
    token: String,
    /// Makes the ID token for a nonce, if there is one.
    identity: Option<(TokenDraft, SigningKey)>,
    /// The PKCE challenge and the nonce of each code that was not used yet.
    challenges: BTreeMap<String, (String, String)>,
    count: usize,
    /// Whether the person is logged in at the provider, and need not be asked.
    pub(super) is_logged_in: bool,
}

impl CodeLogin {
    pub(super) fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            identity: None,
            challenges: BTreeMap::new(),
            count: 0,
            is_logged_in: true,
        }
    }

    /// Logs everybody in as the user of this ID token, which gets the nonce of the login.
    pub(super) fn with_identity(draft: TokenDraft, key: SigningKey) -> Self {
        Self { identity: Some((draft, key)), ..Self::new("opaque") }
    }

    /// Agrees to an authorization request.
    pub(super) fn authorize(&mut self, query: &str) -> Response {
        let fields: BTreeMap<String, String> = parse_fields(query).into_iter().collect();
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        if !self.is_logged_in && field("prompt") == "none" {
            let (back, state) = (field("redirect_uri"), percent_encode(&field("state")));
            let location = format!("{back}?error=login_required&state={state}");
            return (302, vec![("Location", location)], String::new());
        }
        self.count += 1;
        let code = format!("code-{}", self.count);
        self.challenges.insert(code.clone(), (field("code_challenge"), field("nonce")));
        let state = percent_encode(&field("state"));
        let location = format!("{}?code={code}&state={state}", field("redirect_uri"));
        (302, vec![("Location", location)], String::new())
    }

    /// Gives the token for a code, once.
    pub(super) fn token(&mut self, form: &str) -> Response {
        let fields: BTreeMap<String, String> = parse_fields(form).into_iter().collect();
        let field = |name: &str| fields.get(name).map_or("", String::as_str);
        let (challenge, nonce) = self.challenges.remove(field("code")).unzip();
        let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
        if challenge != Some(verifier) {
            let error = json!({ "error": "invalid_grant" });
            return (400, Vec::new(), error.to_string());
        }
        let mut granted =
            json!({ "access_token": self.token, "token_type": "Bearer", "expires_in": 3600 });
        if let Some((draft, key)) = &self.identity {
            let draft = match draft.claims.get("nonce") {
                Some(_) => draft.clone(),
                None => draft.clone().claim("nonce", nonce.unwrap_or_default()),
            };
            granted["id_token"] = json!(draft.sign(key));
        }
        (200, Vec::new(), granted.to_string())
    }
}
