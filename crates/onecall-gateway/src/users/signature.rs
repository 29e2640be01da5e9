//! Verifies the signatures of tokens with ring. HMAC and `none` do not exist here: no token can be
//! signed with something that is public.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// The provider of this module. Its other functions, which onecall does not use, return errors.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(unsupported()),
    verifier_factory: verifier,
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(unsupported()),
        rsa_pub_components_from_public_key: |_| Err(unsupported()),
        ec_pub_components_from_private_key: |_, _| Err(unsupported()),
        ed_pub_components_from_private_key: |_, _| Err(unsupported()),
        compute_digest: |_, _| Err(unsupported()),
    },
};

/// Makes jsonwebtoken verify signatures with this module, in the whole process. It must be called
/// before the first token is read.
pub(super) fn install() {
    // Fails if it was called before, which is sufficient: nothing else installs a provider.
    _ = PROVIDER.install_default();
}

/// Whether signatures of this algorithm can be verified.
pub(super) fn is_supported(algorithm: Algorithm) -> bool {
    rsa_parameters(algorithm).is_some() || curve_parameters(algorithm).is_some()
}

/// The sizes of RSA keys that are accepted, in bytes.
pub(super) const RSA_MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

fn unsupported() -> Error {
    ErrorKind::UnsupportedAlgorithm.into()
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn curve_parameters(algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match algorithm {
        Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &ED25519,
        _ => return None,
    })
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let algorithm = *algorithm;
    if algorithm.family() != key.family() {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    let parameters = match key.kind() {
        DecodingKeyKind::RsaModulusExponent { n, e } => KeyParameters::Rsa {
            parameters: rsa_parameters(algorithm).ok_or_else(unsupported)?,
            modulus: n.clone(),
            exponent: e.clone(),
        },
        DecodingKeyKind::SecretOrDer(point) => KeyParameters::Curve {
            parameters: curve_parameters(algorithm).ok_or_else(unsupported)?,
            point: point.clone(),
        },
    };
    Ok(Box::new(RingVerifier { algorithm, parameters }))
}

/// Verifies signatures of one algorithm with one public key.
struct RingVerifier {
    algorithm: Algorithm,
    parameters: KeyParameters,
}

/// A public key, and how its signatures are computed.
enum KeyParameters {
    Rsa { parameters: &'static RsaParameters, modulus: Vec<u8>, exponent: Vec<u8> },
    Curve { parameters: &'static dyn VerificationAlgorithm, point: Vec<u8> },
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(
        &self,
        message: &[u8],
        signature: &Vec<u8>,
    ) -> std::result::Result<(), signature::Error> {
        let verified = match &self.parameters {
            KeyParameters::Rsa { parameters, modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, message, signature)
            }
            KeyParameters::Curve { parameters, point } => {
                UnparsedPublicKey::new(*parameters, point).verify(message, signature)
            }
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
