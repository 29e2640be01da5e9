//! The jobs that every server is given, in any size.

use std::collections::BTreeMap;

use serde_json::Value;

/// What one program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Prints one line.
    Hello,
    /// Calls `add` this many times, one after the other.
    Calls(u32),
    /// Makes this many calls at once: `sleep`, or `add` if `ms` is zero.
    AtOnce { calls: u32, ms: u32 },
    /// Fetches so many rows, filters them and sums them up by region.
    Rows(u32),
    /// Adds up this many numbers.
    Steps(u32),
}

impl Job {
    /// The expected output; the sums of rows are computed from the rows themselves.
    pub fn outcome(
        self,
        fetch: impl FnOnce(u32) -> Result<String, String>,
    ) -> Result<String, String> {
        let sum_below = |count: u32| u64::from(count) * u64::from(count.saturating_sub(1)) / 2;
        Ok(match self {
            Self::Hello => "hello".to_owned(),
            Self::Calls(count) => (sum_below(count) + u64::from(count)).to_string(),
            Self::AtOnce { calls, .. } => calls.to_string(),
            Self::Rows(count) => sums(&fetch(count)?)?,
            Self::Steps(count) => sum_below(count).to_string(),
        })
    }
}

fn sums(rows: &str) -> Result<String, String> {
    let rows: Vec<Value> =
        serde_json::from_str(rows).map_err(|error| format!("the rows are not JSON: {error}"))?;
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for row in &rows {
        let number = |name: &str| row[name].as_f64().unwrap_or_default();
        if number("quantity") >= 10.0 {
            let region = row["region"].as_str().unwrap_or_default();
            *totals.entry(region).or_default() += number("quantity") * number("price");
        }
    }
    let lines: Vec<String> =
        totals.iter().map(|(region, total)| format!("{region} {total:.2}")).collect();
    Ok(lines.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_reckoned() {
        let rows = r#"[{"region":"b","quantity":10,"price":1.5},
            {"region":"a","quantity":9,"price":1},{"region":"b","quantity":20,"price":2}]"#;
        let outcome = |job: Job| job.outcome(|_| Ok(rows.to_owned()));
        assert_eq!(outcome(Job::Calls(1000)), Ok("500500".to_owned()));
        assert_eq!(outcome(Job::Steps(1_000_000)), Ok("499999500000".to_owned()));
        assert_eq!(outcome(Job::Rows(3)), Ok("b 55.00".to_owned()));
    }
}
