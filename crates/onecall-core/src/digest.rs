//! SHA-256 digests that identify stored things: programs, arguments, tool definitions, files.
//! Digests are written to disk and compared later, so the input of each of them must never change.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. It is displayed in 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `content`.
    #[must_use]
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// A digest that was stored as bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest as bytes.
    #[must_use]
    pub fn into_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Computes the digest of several parts.
#[derive(Clone, Debug, Default)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
    /// Adds bytes as they are. Different parts can give the same digest if they are equal when
    /// joined, unless each has a fixed length or a separator that it cannot contain.
    pub fn add(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Adds a part with its length before it, so that no other list of parts gives the same digest.
    pub fn add_part(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.0.update(part);
    }

    /// The digest of everything that was added.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_what_other_programs_compute() {
        // printf abc | sha256sum
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of("abc").to_string(), known);
        let mut joined = DigestBuilder::default();
        ["a", "bc"].iter().for_each(|part| joined.add(part));
        assert_eq!(joined.finish(), Digest::of("abc"));
    }

    #[test]
    fn parts_are_told_apart_by_their_lengths() {
        let of = |parts: &[&str]| {
            let mut hasher = DigestBuilder::default();
            parts.iter().for_each(|part| hasher.add_part(part));
            hasher.finish()
        };
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
        assert_eq!(of(&["abc"]), Digest::of(b"\x03\0\0\0\0\0\0\0abc"));
    }
}
