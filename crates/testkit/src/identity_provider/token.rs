//! Tokens with chosen headers and claims, good and forged.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

use super::SigningKey;

/// The current time as tokens have it, with this many seconds added.
///
/// # Panics
/// If the clock is before 1970.
#[must_use]
pub fn in_seconds(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
    i64::try_from(now).expect("a time of this age") + seconds
}

/// A token whose header and claims can be changed before it is signed.
#[derive(Clone, Debug)]
pub struct TokenDraft {
    /// The header.
    pub header: Value,
    /// The claims.
    pub claims: Value,
}

impl TokenDraft {
    /// A valid token of this issuer that lasts an hour.
    #[must_use]
    pub fn new(issuer: &str, audience: &str, user: &str) -> Self {
        let claims = json!({
            "iss": issuer,
            "aud": audience,
            "sub": user,
            "iat": in_seconds(0),
            "exp": in_seconds(3_600),
        });
        Self { header: json!({ "typ": "at+jwt" }), claims }
    }

    /// Sets a claim, or removes it if the value is `null`.
    #[must_use]
    pub fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        set(&mut self.claims, name, value.into());
        self
    }

    /// Sets a field of the header, or removes it if the value is `null`. The algorithm and the id of
    /// the key are set when the token is signed, unless they are set here.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        match value {
            // Signing leaves a field alone that is there.
            Value::Null => self.header[name] = Value::Null,
            value => set(&mut self.header, name, value),
        }
        self
    }

    /// Signs the token.
    #[must_use]
    pub fn sign(&self, key: &SigningKey) -> String {
        let unsigned = self.unsigned(key.algorithm(), Some(&key.id));
        let signature = key.sign(unsigned.as_bytes());
        format!("{unsigned}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Signs the token with an HMAC of this secret, as `HS256`.
    #[must_use]
    pub fn sign_with_secret(&self, key_id: &str, secret: &[u8]) -> String {
        let unsigned = self.unsigned("HS256", Some(key_id));
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let signature = hmac::sign(&key, unsigned.as_bytes());
        format!("{unsigned}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// The token without a signature, with the algorithm `none` in this spelling.
    #[must_use]
    pub fn without_signature(&self, algorithm: &str) -> String {
        format!("{}.", self.unsigned(algorithm, None))
    }

    fn unsigned(&self, algorithm: &str, key_id: Option<&str>) -> String {
        let mut header = self.header.clone();
        if header.get("alg").is_none() {
            header["alg"] = algorithm.into();
        }
        if let (None, Some(id)) = (header.get("kid"), key_id) {
            header["kid"] = id.into();
        }
        if let Value::Object(fields) = &mut header {
            fields.retain(|_, value| !value.is_null());
        }
        let [header, claims] =
            [&header, &self.claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        format!("{header}.{claims}")
    }
}

fn set(object: &mut Value, name: &str, value: Value) {
    match value {
        Value::Null => {
            object.as_object_mut().map(|fields| fields.remove(name));
        }
        value => object[name] = value,
    }
}
