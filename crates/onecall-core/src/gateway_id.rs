//! Names of gateways that share a store, and of the gateway that holds a session.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// Identifies one of several gateways that share a store, from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GatewayId(String);

/// How many hexadecimal digits a name has.
const DIGITS: usize = 16;

/// Stands between a handle and the gateway that it belongs to.
const SEPARATOR: char = '@';

impl GatewayId {
    /// A new random name.
    #[must_use]
    pub fn generate() -> Self {
        // The standard library seeds it at random, differently each time.
        Self(format!("{:016x}", RandomState::new().hash_one(std::process::id())))
    }

    /// Parses a name; `None` if the text is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == DIGITS && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A handle that names this gateway as the one that can use it.
    #[must_use]
    pub fn name_in(&self, handle: &str) -> String {
        format!("{handle}{SEPARATOR}{self}")
    }

    /// The gateway that a handle names; `None` if it names none.
    #[must_use]
    pub fn named_in(handle: &str) -> Option<Self> {
        Self::parse(handle.rsplit_once(SEPARATOR)?.1)
    }
}

impl fmt::Display for GatewayId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_its_gateway() {
        let gateway = GatewayId::generate();
        assert_ne!(gateway, GatewayId::generate());
        assert_eq!(GatewayId::named_in(&gateway.name_in("a@b")), Some(gateway));
        for handle in ["", "@", "a", "a@b", "a@0123456789ABCDEF", "0123456789abcdef"] {
            assert_eq!(GatewayId::named_in(handle), None, "{handle}");
        }
    }
}
