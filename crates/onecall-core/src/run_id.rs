//! Identifiers of runs. They sort by time and are unique across processes.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::Serialize;

/// Identifies a run: short, sorted by time, and unique across processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

/// The digits of an identifier. They sort like their bytes, and none looks like another one.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl RunId {
    /// An identifier for a run that began this many milliseconds after 1970: nine digits for the
    /// time and five random ones.
    #[must_use]
    pub fn generate(milliseconds: i64) -> Self {
        // The standard library seeds it at random, differently each time.
        let random = RandomState::new().hash_one(std::process::id());
        let time = u64::try_from(milliseconds).unwrap_or(0);
        Self(digits(time, 9) + &digits(random, 5))
    }

    /// Wraps an identifier that exists already.
    pub fn from_existing(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The identifier as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The last `count` digits of a number.
fn digits(number: u64, count: u32) -> String {
    let places = (0..count).rev().map(|place| (number >> (5 * place)) & 31);
    let digit = |value: u64| usize::try_from(value).ok().and_then(|at| DIGITS.get(at));
    places.filter_map(digit).map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_of_runs_are_in_the_order_of_time_and_differ() {
        let earlier = RunId::generate(1_778_311_773_000);
        let later = RunId::generate(1_778_311_773_001);
        assert!(earlier < later, "{earlier} {later}");
        assert_eq!(earlier.as_str().len(), 14);
        let names: BTreeSet<_> = (0..100).map(|_| RunId::generate(5)).collect();
        assert!(names.len() > 95);
    }
}
