//! Moments as they are stored.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

const DAY: i64 = 86_400_000;

impl Timestamp {
    /// The present.
    #[must_use]
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// So much later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(milliseconds(span)))
    }

    /// So much earlier.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(milliseconds(span)))
    }

    /// From `earlier` until now; nothing if it is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Such as `2026-05-09T07:29:33.042Z`.
    #[must_use]
    pub fn with_milliseconds(self) -> String {
        let seconds = self.to_string();
        format!("{}.{:03}Z", seconds.trim_end_matches('Z'), self.0.rem_euclid(1000))
    }

    /// Such as `2026-05-09`.
    #[must_use]
    pub fn day(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        format!("{year:04}-{month:02}-{day:02}")
    }
}

fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(milliseconds(since)),
            Err(before) => Self(-milliseconds(before.duration())),
        }
    }
}

/// Such as `2026-05-09T07:29:33Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.rem_euclid(DAY) / 1000;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(formatter, "{}T{hour:02}:{minute:02}:{second:02}Z", self.day())
    }
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar: counted in years
/// that begin in March, so that the day that may be missing is the last one.
fn civil(days: i64) -> (i64, i64, i64) {
    let from_march = days.saturating_add(719_468);
    let (era, day_of_era) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_as_a_date() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_827_696_000, "2000-02-29T12:34:56Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ];
        for (milliseconds, expected) in cases {
            assert_eq!(Timestamp(milliseconds).to_string(), expected);
        }
        let precise = Timestamp(951_827_696_042).with_milliseconds();
        assert_eq!(precise, "2000-02-29T12:34:56.042Z");
    }
}
