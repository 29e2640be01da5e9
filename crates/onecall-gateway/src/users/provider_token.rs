//! Verifies the tokens of the identity provider: JSON Web Tokens. Which key and algorithm count is
//! decided by the keys of the issuer alone; keys and addresses in a token are never used.

use std::sync::Arc;

use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Header, Validation, decode, decode_header, get_current_timestamp};
use onecall_config::OidcConfig;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::claims::{self, CLOCK_SKEW, Identity};
use super::key_cache::{KeyCache, KeyError, KeySource};
use super::key_set::NoKey;
use super::refusal::LoginRefusal;
use super::signature;

/// The types of tokens that are accepted. A token need not have a type.
const TYPES: [&str; 4] = ["JWT", "at+jwt", "application/jwt", "application/at+jwt"];

/// Verifies tokens of one identity provider.
pub(super) struct TokenVerifier {
    config: OidcConfig,
    keys: Arc<KeyCache>,
}

/// The issuer that a token claims to have, before anything is verified.
#[derive(Deserialize)]
struct ClaimedIssuer {
    iss: String,
}

impl TokenVerifier {
    /// Begins to fetch keys from `source`. Must be called inside a tokio runtime.
    pub(super) fn start(config: OidcConfig, source: Box<dyn KeySource>) -> Self {
        signature::install();
        Self { config, keys: KeyCache::start(source) }
    }

    /// The user that a token was made for.
    pub(super) async fn verify(&self, token: &str) -> Result<Identity, LoginRefusal> {
        let claims = self.verified_claims(token, &self.config.audience).await?;
        claims::identity(&claims, &self.config, get_current_timestamp())
    }

    /// The user whom an ID token names. It was made for this client, as the answer to the login with
    /// this nonce.
    pub(super) async fn verify_id_token(
        &self,
        token: &str,
        client_id: &str,
        nonce: &str,
    ) -> Result<Identity, LoginRefusal> {
        let claims = self.verified_claims(token, client_id).await?;
        if claims.get("nonce").and_then(Value::as_str) != Some(nonce) {
            return Err(LoginRefusal::Claim("nonce".to_owned()));
        }
        // Scopes are those of access tokens.
        let config = OidcConfig { scopes: Vec::new(), ..self.config.clone() };
        claims::identity(&claims, &config, get_current_timestamp())
    }

    /// The claims of a token that the issuer has made for this audience.
    async fn verified_claims(
        &self,
        token: &str,
        audience: &str,
    ) -> Result<Map<String, Value>, LoginRefusal> {
        let header = decode_header(token).map_err(|error| malformed(&error))?;
        check_header(&header)?;
        // Tokens of another issuer are common mistakes; no keys are fetched for them.
        let claimed: ClaimedIssuer =
            insecure_decode_claims(token).map_err(|_| LoginRefusal::Malformed)?;
        if claimed.iss != self.config.issuer {
            return Err(LoginRefusal::Issuer);
        }
        let key = self.keys.find(header.kid.as_deref(), header.alg).await.map_err(no_key)?;
        let mut validation = Validation::new(key.algorithm);
        validation.leeway = CLOCK_SKEW;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[audience]);
        let decoded = decode::<Map<String, Value>>(token, &key.key, &validation)
            .map_err(|error| refusal(&error))?;
        Ok(decoded.claims)
    }
}

fn check_header(header: &Header) -> Result<(), LoginRefusal> {
    if !signature::is_supported(header.alg) {
        return Err(LoginRefusal::Algorithm);
    }
    if header.crit.is_some() || header.extras.inner().contains_key("b64") {
        return Err(LoginRefusal::CriticalExtension);
    }
    let is_accepted = |typ: &String| TYPES.iter().any(|known| known.eq_ignore_ascii_case(typ));
    let is_plain = header.cty.is_none() && header.enc.is_none() && header.zip.is_none();
    if !is_plain || !header.typ.as_ref().is_none_or(is_accepted) {
        return Err(LoginRefusal::Type);
    }
    Ok(())
}

fn malformed(error: &Error) -> LoginRefusal {
    match error.kind() {
        // The name of an algorithm that is not known is an error in the JSON of the header.
        ErrorKind::Json(error) if error.to_string().contains("unknown variant") => {
            LoginRefusal::Algorithm
        }
        _ => LoginRefusal::Malformed,
    }
}

fn no_key(error: KeyError) -> LoginRefusal {
    match error {
        KeyError::Unavailable => LoginRefusal::IssuerUnavailable,
        KeyError::NoKey(NoKey::Unknown) => LoginRefusal::UnknownKey,
        KeyError::NoKey(NoKey::Ambiguous) => LoginRefusal::AmbiguousKey,
        KeyError::NoKey(NoKey::OtherAlgorithm) => LoginRefusal::KeyAlgorithm,
    }
}

fn refusal(error: &Error) -> LoginRefusal {
    match error.kind() {
        ErrorKind::InvalidSignature => LoginRefusal::Signature,
        ErrorKind::ExpiredSignature => LoginRefusal::Expired,
        ErrorKind::ImmatureSignature => LoginRefusal::NotYetValid,
        ErrorKind::InvalidAudience => LoginRefusal::Audience,
        ErrorKind::InvalidIssuer => LoginRefusal::Issuer,
        ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => LoginRefusal::KeyAlgorithm,
        ErrorKind::MissingRequiredClaim(claim) | ErrorKind::InvalidClaimFormat(claim) => {
            LoginRefusal::Claim(claim.clone())
        }
        _ => LoginRefusal::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    use super::*;

    fn checked(header: &Value) -> Result<(), LoginRefusal> {
        let token = format!("{}.e30.c2ln", URL_SAFE_NO_PAD.encode(header.to_string()));
        let header = decode_header(token).map_err(|error| malformed(&error))?;
        check_header(&header)
    }

    #[test]
    fn a_header_names_an_algorithm_and_nothing_critical() {
        for header in [
            json!({ "alg": "RS256" }),
            json!({ "alg": "EdDSA", "typ": "JWT", "kid": "../../etc/passwd" }),
            json!({ "alg": "ES384", "typ": "at+jwt" }),
            json!({ "alg": "ES256", "typ": "application/at+jwt" }),
            json!({ "alg": "ES256", "jku": "https://evil.example", "x5c": ["MII"] }),
        ] {
            assert_eq!(checked(&header), Ok(()), "{header}");
        }
        for (header, expected) in [
            (json!({ "alg": "none" }), LoginRefusal::Algorithm),
            (json!({ "alg": "None" }), LoginRefusal::Algorithm),
            (json!({ "alg": "HS256" }), LoginRefusal::Algorithm),
            (json!({ "alg": "ES512" }), LoginRefusal::Algorithm),
            (json!({ "alg": 7 }), LoginRefusal::Malformed),
            (json!({}), LoginRefusal::Malformed),
            (
                json!({ "alg": "ES256", "crit": ["b64"], "b64": false }),
                LoginRefusal::CriticalExtension,
            ),
            (json!({ "alg": "ES256", "crit": [] }), LoginRefusal::CriticalExtension),
            (json!({ "alg": "ES256", "typ": "dpop+jwt" }), LoginRefusal::Type),
            (json!({ "alg": "ES256", "typ": "id_token" }), LoginRefusal::Type),
            (json!({ "alg": "ES256", "enc": "A128GCM" }), LoginRefusal::Type),
            (json!({ "alg": "ES256", "kid": 7 }), LoginRefusal::Malformed),
        ] {
            assert_eq!(checked(&header), Err(expected), "{header}");
        }
    }
}
