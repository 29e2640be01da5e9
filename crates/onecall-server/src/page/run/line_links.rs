//! Links to lines of a program, of which a page shows a part.

use std::ops::Range;

use onecall_core::RunId;

use crate::page::fields::Fields;

/// How many lines before a line its page begins.
const LINES_BEFORE: usize = 5;

/// Links to lines of the program of a run.
pub(super) struct LineLinks {
    /// The lines that the same page shows.
    shown: Range<usize>,
    /// The address of the page of the run, and the query of this page if it is that page.
    run: String,
    query: Fields,
}

impl LineLinks {
    /// The links of a page that shows these lines, which count from 1.
    pub(super) fn new(shown: Range<usize>, run: &RunId, query: &Fields) -> Self {
        Self { shown, run: format!("/page/runs/{run}"), query: query.clone() }
    }

    /// The address of a line.
    pub(super) fn to(&self, line: usize) -> String {
        if self.shown.contains(&line) {
            return format!("#line-{line}");
        }
        let first = line.saturating_sub(LINES_BEFORE).max(1).to_string();
        format!("{}{}#line-{line}", self.run, self.query.with(&[("at", Some(&first))]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_the_part_that_has_the_line() {
        let run = RunId::from_existing("r1");
        let links = LineLinks::new(1..301, &run, &Fields::parse(b"only=failed&at=1"));
        assert_eq!(links.to(300), "#line-300");
        assert_eq!(links.to(301), "/page/runs/r1?only=failed&at=296#line-301");
        let elsewhere = LineLinks::new(0..0, &run, &Fields::default());
        assert_eq!(elsewhere.to(2), "/page/runs/r1?at=1#line-2");
    }
}
