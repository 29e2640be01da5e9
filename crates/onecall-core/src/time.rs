//! Points in time as they are stored, and their text forms.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time: milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The current time.
    #[must_use]
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// The time that a text stands for: a date and time with its offset from UTC, such as
    /// `2026-05-09T07:29:33Z`, or a date, which stands for its end in UTC.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let end = |date: jiff::civil::Date| {
            let midnight = date.tomorrow().ok()?.to_datetime(jiff::civil::Time::midnight());
            jiff::tz::Offset::UTC.to_timestamp(midnight).ok()
        };
        // A text with a time is also read as a date, without its time.
        let time = text.parse::<jiff::Timestamp>().ok();
        let is_date = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let time = time.or_else(|| text.parse().ok().filter(|_| is_date).and_then(end))?;
        Some(Self(time.as_millisecond()))
    }

    /// The time this much later.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(milliseconds(span)))
    }

    /// The time this much earlier.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(milliseconds(span)))
    }

    /// The time from `earlier` to this time; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The date and time with milliseconds, such as `2026-05-09T07:29:33.042Z`.
    #[must_use]
    pub fn with_milliseconds(self) -> String {
        self.calendar().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }

    /// The date, such as `2026-05-09`.
    #[must_use]
    pub fn day(self) -> String {
        self.calendar().strftime("%Y-%m-%d").to_string()
    }

    /// The date and time in UTC as part of a file name, such as `20260509-072933`.
    #[must_use]
    pub fn for_file_name(self) -> String {
        self.calendar().strftime("%Y%m%d-%H%M%S").to_string()
    }

    /// The time as the calendar library has it. A time outside of its range becomes the first or
    /// last one.
    fn calendar(self) -> jiff::Timestamp {
        let beyond = match self.0 {
            ..0 => jiff::Timestamp::MIN,
            _ => jiff::Timestamp::MAX,
        };
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(beyond)
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

/// Formats the date and time, such as `2026-05-09T07:29:33Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.calendar().strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_stands_for_its_end() {
        let read = |text| Timestamp::parse(text).map(|time| time.to_string());
        let rows = [
            ("2026-12-31", Some("2027-01-01T00:00:00Z")),
            ("2026-12-31T18:00:00Z", Some("2026-12-31T18:00:00Z")),
            ("2026-12-31T18:00:00+01:00", Some("2026-12-31T17:00:00Z")),
            ("2026-12-31T18:00:00", None),
            ("2026-02-30", None),
            ("9999-12-31", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
    }

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
        assert_eq!(Timestamp(i64::MAX).day(), "9999-12-30");
        assert_eq!(Timestamp(i64::MIN).day(), "-9999-01-02");
        assert_eq!(Timestamp(1_794_766_292_000).for_file_name(), "20261115-181132");
        let precise = Timestamp(951_827_696_042).with_milliseconds();
        assert_eq!(precise, "2000-02-29T12:34:56.042Z");
    }
}
