//! Encryption keys. The first of several keys encrypts, and all of them decrypt, so that one can
//! replace another while both are in use.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use onecall_core::storage::{SealedSecret, UserSecretKey};
use onecall_core::{Digest, DigestBuilder, Secret};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use super::error::VaultError;

/// The environment variable with keys.
pub const KEY_VARIABLE: &str = "ONECALL_SECRETS_KEY";

/// The length of a key in bytes.
const KEY_BYTES: usize = 32;

/// The number of hexadecimal digits in the id of a key.
const ID_DIGITS: usize = 16;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An encryption key.
pub(super) struct EncryptionKey {
    id: String,
    text: Secret,
    key: LessSafeKey,
}

impl EncryptionKey {
    /// Makes a new key.
    pub(super) fn generate() -> Result<Self, VaultError> {
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| VaultError::NoRandomness)?;
        Self::parse(&BASE64.encode(bytes)).ok_or(VaultError::NoRandomness)
    }

    /// Reads a key that is written in base64.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text.trim()).ok().filter(|bytes| bytes.len() == KEY_BYTES)?;
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes).ok()?);
        Some(Self { id: id_of(&bytes), text: Secret::new(text.trim()), key })
    }

    /// Names the key. It reveals nothing about it.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The key in base64.
    pub(super) fn text(&self) -> &Secret {
        &self.text
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EncryptionKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The id of a key: the beginning of a digest.
fn id_of(key: &[u8]) -> String {
    let mut digest = DigestBuilder::default();
    digest.add_part("onecall: id of a key for secrets of users");
    digest.add_part(key);
    let digest: Digest = digest.finish();
    digest.to_string().chars().take(ID_DIGITS).collect()
}

/// Keys, of which the first one encrypts.
#[derive(Debug, Default)]
pub(super) struct KeyRing(Vec<EncryptionKey>);

impl KeyRing {
    pub(super) fn new(keys: Vec<EncryptionKey>) -> Self {
        Self(keys)
    }

    /// The key that encrypts.
    pub(super) fn first(&self) -> Option<&EncryptionKey> {
        self.0.first()
    }

    /// The keys that only decrypt.
    pub(super) fn all_but_first(&self) -> impl Iterator<Item = &EncryptionKey> {
        self.0.iter().skip(1)
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|key| key.id == id)
    }

    /// Encrypts a value. The result can be decrypted only as the value of `key`.
    pub(super) fn seal(
        &self,
        key: &UserSecretKey,
        value: &[u8],
    ) -> Result<SealedSecret, VaultError> {
        let encryption = self.first().ok_or(VaultError::NoKeyFile)?;
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| VaultError::NoRandomness)?;
        let mut sealed = value.to_vec();
        let context = Aad::from(context(key, &encryption.id));
        let unique = Nonce::assume_unique_for_key(nonce);
        let done = encryption.key.seal_in_place_append_tag(unique, context, &mut sealed);
        done.map_err(|_| VaultError::Undecryptable { key: key.clone() })?;
        Ok(SealedSecret { key_id: encryption.id.clone(), nonce: nonce.to_vec(), sealed })
    }

    /// Decrypts the value of `key`.
    pub(super) fn open(
        &self,
        key: &UserSecretKey,
        content: &SealedSecret,
    ) -> Result<Vec<u8>, VaultError> {
        let SealedSecret { key_id, nonce, sealed } = content;
        let Some(encryption) = self.0.iter().find(|known| known.id == *key_id) else {
            let key_id = key_id.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
            return Err(VaultError::UnknownKey { key: key.clone(), key_id });
        };
        let undecryptable = || VaultError::Undecryptable { key: key.clone() };
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| undecryptable())?;
        let mut value = sealed.clone();
        let context = Aad::from(context(key, key_id));
        let opened = encryption.key.open_in_place(nonce, context, &mut value);
        let length = opened.map_err(|_| undecryptable())?.len();
        value.truncate(length);
        Ok(value)
    }
}

/// What is authenticated together with a value, so that a row of the store that is moved to another
/// user, kind or name cannot be decrypted.
fn context(key: &UserSecretKey, key_id: &str) -> Vec<u8> {
    let parts = ["onecall user secret 1", key.user.as_str(), key.kind.name(), &key.name, key_id];
    let mut context = Vec::new();
    for part in parts {
        context.extend(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        context.extend(part.as_bytes());
    }
    context
}

/// The keys in the text of the environment variable.
pub(super) fn parse_variable(text: &Secret) -> Result<Vec<EncryptionKey>, VaultError> {
    let keys = text.reveal().split(',').zip(1..);
    keys.map(|(text, position)| {
        EncryptionKey::parse(text).ok_or(VaultError::InvalidVariable { position })
    })
    .collect()
}
