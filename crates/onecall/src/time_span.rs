//! Parses a span of time from the command line: `30s`, `15m`, `2h`, `7d`, `4w`.

use std::time::Duration;

/// Parses a span.
pub(crate) fn parse_time_span(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit, such as 30s, 15m, 2h, 7d or 4w".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let number = text.strip_suffix(unit).and_then(|number| number.parse::<u32>().ok());
    number.map(|number| Duration::from_secs(u64::from(number) * seconds)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units() {
        let seconds = |text| parse_time_span(text).map(|span| span.as_secs()).ok();
        let texts = ["30s", "15m", "2h", "7d", "4w", "", "5", "h", "-1h", "1.5h", "2é"];
        let expected = [
            Some(30),
            Some(900),
            Some(7_200),
            Some(604_800),
            Some(2_419_200),
            None,
            None,
            None,
            None,
            None,
            None,
        ];
        assert_eq!(texts.map(seconds), expected);
    }
}
