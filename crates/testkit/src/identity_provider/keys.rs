//! The signing keys of the identity provider: made when they are needed, apart from RSA, for which
//! there is a key in a file.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

/// The RSA key of the tests. It is public, and protects nothing.
const TEST_KEY_RSA: &str = include_str!("test-key-rsa-2048.txt");

/// A signing key.
pub struct SigningKey {
    /// The id in the key set and in the headers of tokens.
    pub id: String,
    algorithm: &'static str,
    pair: KeyPair,
}

enum KeyPair {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// A key for an algorithm, as tokens name it.
    ///
    /// # Panics
    /// If there is no such algorithm here.
    #[must_use]
    pub fn new(id: &str, algorithm: &'static str) -> Self {
        let random = SystemRandom::new();
        let pair = match algorithm {
            "ES256" | "ES384" => {
                let kind = match algorithm {
                    "ES256" => &ECDSA_P256_SHA256_FIXED_SIGNING,
                    _ => &ECDSA_P384_SHA384_FIXED_SIGNING,
                };
                let document = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("a new key");
                let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random);
                KeyPair::Ecdsa(pair.expect("the key can be read"))
            }
            "EdDSA" => {
                let document = Ed25519KeyPair::generate_pkcs8(&random).expect("a new key");
                let pair = Ed25519KeyPair::from_pkcs8(document.as_ref());
                KeyPair::Ed25519(pair.expect("the key can be read"))
            }
            _ => {
                rsa_encoding(algorithm);
                let text: String = TEST_KEY_RSA.split_whitespace().collect();
                let document = STANDARD.decode(text).expect("the key is base64");
                let pair = RsaKeyPair::from_pkcs8(&document);
                KeyPair::Rsa(pair.expect("the key can be read"))
            }
        };
        Self { id: id.to_owned(), algorithm, pair }
    }

    /// The algorithm, as tokens name it.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// The public key, as key sets have it.
    #[must_use]
    pub fn public(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match &self.pair {
            KeyPair::Rsa(pair) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
                json!({ "kty": "RSA", "n": text(&n), "e": text(&e) })
            }
            KeyPair::Ecdsa(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if self.algorithm == "ES256" { "P-256" } else { "P-384" };
                json!({ "kty": "EC", "crv": curve, "x": text(x), "y": text(y) })
            }
            KeyPair::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref()) })
            }
        };
        key["kid"] = self.id.as_str().into();
        key["alg"] = self.algorithm.into();
        key["use"] = "sig".into();
        key
    }

    /// The public key as bytes, which an attacker could use as the secret of an HMAC.
    #[must_use]
    pub fn public_bytes(&self) -> Vec<u8> {
        match &self.pair {
            KeyPair::Rsa(pair) => pair.public().as_ref().to_vec(),
            KeyPair::Ecdsa(pair) => pair.public_key().as_ref().to_vec(),
            KeyPair::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    /// The signature of a message.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            KeyPair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let encoding = rsa_encoding(self.algorithm);
                pair.sign(encoding, &random, message, &mut signature).expect("a signature");
                signature
            }
            KeyPair::Ecdsa(pair) => {
                pair.sign(&random, message).expect("a signature").as_ref().to_vec()
            }
            KeyPair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

fn rsa_encoding(algorithm: &str) -> &'static dyn RsaEncoding {
    match algorithm {
        "RS256" => &RSA_PKCS1_SHA256,
        "RS384" => &RSA_PKCS1_SHA384,
        "RS512" => &RSA_PKCS1_SHA512,
        "PS256" => &RSA_PSS_SHA256,
        "PS384" => &RSA_PSS_SHA384,
        "PS512" => &RSA_PSS_SHA512,
        other => panic!("no key for {other}"),
    }
}
