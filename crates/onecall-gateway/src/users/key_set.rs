//! The public keys of an identity provider. Each key is used with one algorithm only, and a token
//! cannot choose another.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::signature::{RSA_MODULUS_BYTES, is_supported};

/// How many keys of a set are read.
const MAX_KEYS: usize = 200;

/// A public key with the one algorithm that it is used with.
#[derive(Clone, Debug)]
pub(super) struct PinnedKey {
    id: Option<String>,
    /// The algorithm of all signatures that are verified with this key.
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

/// The keys of a set that can be used to verify tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySet {
    keys: Vec<PinnedKey>,
}

/// Why no key of the set belongs to a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// No key has the id that the token names.
    Unknown,
    /// The token names no key, and there is more than one.
    Ambiguous,
    /// The key is used with another algorithm than the token says.
    OtherAlgorithm,
}

/// A document with keys.
#[derive(Deserialize)]
struct KeyDocument {
    keys: Vec<Value>,
}

/// The fields of a key in the document.
#[derive(Deserialize)]
struct KeyFields {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a document with keys. Keys that are malformed, too short, of an unknown kind or not for
    /// signatures are left out. `None` if it is no such document.
    pub(super) fn parse(document: &[u8]) -> Option<Self> {
        let document: KeyDocument = serde_json::from_slice(document).ok()?;
        let fields = document.keys.into_iter().take(MAX_KEYS);
        let fields = fields.filter_map(|key| serde_json::from_value::<KeyFields>(key).ok());
        Some(Self { keys: fields.filter_map(pinned).collect() })
    }

    /// How many keys can be used.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key for a token with this header.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<&PinnedKey, NoKey> {
        let candidates: Vec<&PinnedKey> = match id {
            Some(id) => self.keys.iter().filter(|key| key.id.as_deref() == Some(id)).collect(),
            None => self.keys.iter().collect(),
        };
        match candidates.as_slice() {
            [] => Err(NoKey::Unknown),
            [_, _, ..] if id.is_none() => Err(NoKey::Ambiguous),
            keys => {
                let mut fitting = keys.iter().filter(|key| key.algorithm == algorithm);
                match (fitting.next(), fitting.next()) {
                    (Some(key), None) => Ok(key),
                    (None, _) => Err(NoKey::OtherAlgorithm),
                    (Some(_), Some(_)) => Err(NoKey::Ambiguous),
                }
            }
        }
    }
}

/// The key, if signatures can be verified with it.
fn pinned(fields: KeyFields) -> Option<PinnedKey> {
    let is_for_signatures = fields.purpose.as_deref().is_none_or(|purpose| purpose == "sig");
    let may_verify =
        fields.key_ops.as_ref().is_none_or(|all| all.iter().any(|one| one == "verify"));
    if !is_for_signatures || !may_verify {
        return None;
    }
    let (derived, key) = public_key(&fields)?;
    let algorithm = match &fields.alg {
        Some(name) => name.parse::<Algorithm>().ok()?,
        None => derived,
    };
    let fits = match derived.family() {
        jsonwebtoken::AlgorithmFamily::Rsa => algorithm.family() == derived.family(),
        // A curve has one algorithm.
        _ => algorithm == derived,
    };
    let is_usable = fits && is_supported(algorithm);
    is_usable.then_some(PinnedKey { id: fields.kid, algorithm, key })
}

/// The key itself, and the algorithm that it has unless the document names another.
fn public_key(fields: &KeyFields) -> Option<(Algorithm, DecodingKey)> {
    let bytes = |text: &Option<String>| {
        let text = text.as_ref()?.trim_end_matches('=');
        URL_SAFE_NO_PAD.decode(text).ok()
    };
    match (fields.kty.as_str(), fields.crv.as_deref()) {
        ("RSA", _) => {
            let (modulus, exponent) = (bytes(&fields.n)?, bytes(&fields.e)?);
            let (modulus, exponent) = (without_zeros(&modulus), without_zeros(&exponent));
            let key = DecodingKey::from_rsa_raw_components(modulus, exponent);
            RSA_MODULUS_BYTES.contains(&modulus.len()).then_some((Algorithm::RS256, key))
        }
        ("EC", Some("P-256")) => {
            point(&bytes(&fields.x)?, &bytes(&fields.y)?, 32, Algorithm::ES256)
        }
        ("EC", Some("P-384")) => {
            point(&bytes(&fields.x)?, &bytes(&fields.y)?, 48, Algorithm::ES384)
        }
        ("OKP", Some("Ed25519")) => {
            let x = bytes(&fields.x)?;
            (x.len() == 32).then(|| (Algorithm::EdDSA, DecodingKey::from_ed_der(&x)))
        }
        _ => None,
    }
}

fn point(
    x: &[u8],
    y: &[u8],
    length: usize,
    algorithm: Algorithm,
) -> Option<(Algorithm, DecodingKey)> {
    if x.len() != length || y.len() != length {
        return None;
    }
    let point: Vec<u8> =
        std::iter::once(4).chain(x.iter().copied()).chain(y.iter().copied()).collect();
    Some((algorithm, DecodingKey::from_ec_der(&point)))
}

/// A number without zeros at its beginning, which some providers write and ring refuses.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rsa(bytes: usize) -> Value {
        let modulus = URL_SAFE_NO_PAD.encode(vec![0xc1; bytes]);
        json!({ "kty": "RSA", "kid": "r", "n": modulus, "e": "AQAB" })
    }

    fn ec() -> Value {
        let number = URL_SAFE_NO_PAD.encode([7; 32]);
        json!({ "kty": "EC", "crv": "P-256", "kid": "e", "x": number, "y": number })
    }

    fn ed() -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "o", "x": URL_SAFE_NO_PAD.encode([7; 32]) })
    }

    fn with(mut key: Value, field: &str, value: impl Into<Value>) -> Value {
        key[field] = value.into();
        key
    }

    fn set(keys: &[Value]) -> KeySet {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    fn algorithms(keys: &[Value]) -> Vec<Algorithm> {
        set(keys).keys.iter().map(|key| key.algorithm).collect()
    }

    #[test]
    fn each_key_has_one_algorithm() {
        let keys =
            [rsa(256), with(rsa(256), "alg", "PS384"), ec(), ed(), with(ec(), "alg", "ES256")];
        assert_eq!(
            algorithms(&keys),
            [
                Algorithm::RS256,
                Algorithm::PS384,
                Algorithm::ES256,
                Algorithm::EdDSA,
                Algorithm::ES256
            ]
        );
    }

    #[test]
    fn keys_that_cannot_be_used_are_left_out() {
        let unusable = [
            rsa(255),
            rsa(1025),
            with(rsa(256), "alg", "HS256"),
            with(rsa(256), "alg", "ES256"),
            with(rsa(256), "alg", "none"),
            with(rsa(256), "use", "enc"),
            with(rsa(256), "key_ops", json!(["sign"])),
            with(rsa(256), "n", "not base64 at all!"),
            with(rsa(256), "n", Value::Null),
            with(rsa(256), "kid", 7),
            with(ec(), "crv", "P-521"),
            with(ec(), "alg", "ES384"),
            with(ec(), "x", "AAAA"),
            with(ed(), "crv", "Ed448"),
            json!({ "kty": "oct", "k": "c2VjcmV0", "alg": "HS256" }),
            json!("a text"),
        ];
        assert_eq!(algorithms(&unusable), []);
        let usable = with(with(ec(), "use", "sig"), "key_ops", json!(["verify"]));
        assert_eq!(algorithms(&[unusable.as_slice(), &[usable]].concat()), [Algorithm::ES256]);
        for document in ["", "[]", "{}", r#"{"keys": 7}"#] {
            assert!(KeySet::parse(document.as_bytes()).is_none(), "{document}");
        }
    }

    #[test]
    fn a_modulus_may_begin_with_a_zero() {
        let modulus = URL_SAFE_NO_PAD.encode([vec![0], vec![0xc1; 256]].concat());
        assert_eq!(algorithms(&[with(rsa(256), "n", modulus)]), [Algorithm::RS256]);
    }

    #[test]
    fn a_token_gets_the_key_that_it_names_with_the_algorithm_of_the_key() {
        let found = |keys: &KeySet, id: Option<&str>, algorithm| {
            keys.find(id, algorithm).map(|key| (key.id.clone().unwrap(), key.algorithm))
        };
        let several = set(&[rsa(256), ec(), ed()]);
        assert_eq!(several.len(), 3);
        assert_eq!(
            found(&several, Some("e"), Algorithm::ES256),
            Ok(("e".to_owned(), Algorithm::ES256))
        );
        assert_eq!(found(&several, Some("e"), Algorithm::RS256), Err(NoKey::OtherAlgorithm));
        assert_eq!(found(&several, Some("r"), Algorithm::HS256), Err(NoKey::OtherAlgorithm));
        assert_eq!(found(&several, Some("r"), Algorithm::RS512), Err(NoKey::OtherAlgorithm));
        assert_eq!(found(&several, Some("E"), Algorithm::ES256), Err(NoKey::Unknown));
        assert_eq!(found(&several, None, Algorithm::ES256), Err(NoKey::Ambiguous));
        let one = set(&[ec()]);
        assert_eq!(found(&one, None, Algorithm::ES256), Ok(("e".to_owned(), Algorithm::ES256)));
        assert_eq!(found(&one, None, Algorithm::EdDSA), Err(NoKey::OtherAlgorithm));
        assert_eq!(found(&KeySet::default(), None, Algorithm::ES256), Err(NoKey::Unknown));
        // Two kinds of key may share an id.
        let shared = set(&[ec(), with(rsa(256), "kid", "e")]);
        assert_eq!(
            found(&shared, Some("e"), Algorithm::RS256),
            Ok(("e".to_owned(), Algorithm::RS256))
        );
        let twins = set(&[ec(), ec()]);
        assert_eq!(found(&twins, Some("e"), Algorithm::ES256), Err(NoKey::Ambiguous));
    }
}
