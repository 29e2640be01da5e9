//! The name of a run.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::Serialize;

/// Names a run: short, in the order of time, and like no other of any process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

/// Digits that are in the order of their bytes, and cannot be taken for one another.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl RunId {
    /// A name for a run that began so many milliseconds after 1970: nine digits of the time, five of
    /// chance.
    #[must_use]
    pub fn at(milliseconds: i64) -> Self {
        // Keyed at random by the standard library, differently each time.
        let chance = RandomState::new().hash_one(std::process::id());
        let time = u64::try_from(milliseconds).unwrap_or(0);
        Self(digits(time, 9) + &digits(chance, 5))
    }

    /// Takes a name as it is.
    pub fn known(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
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
        let earlier = RunId::at(1_778_311_773_000);
        let later = RunId::at(1_778_311_773_001);
        assert!(earlier < later, "{earlier} {later}");
        assert_eq!(earlier.as_str().len(), 14);
        let names: BTreeSet<_> = (0..100).map(|_| RunId::at(5)).collect();
        assert!(names.len() > 95);
    }
}
