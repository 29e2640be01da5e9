//! The tasks that tokens are counted for, one folder each: what the user asks, the
//! programs that an agent writes for it, and what an agent does that calls every tool
//! itself.

mod compare_companies;
mod dedupe_contacts;
mod expense_audit;
mod flaky_test;
mod incident;
mod join_databases;
mod morning_briefing;
mod nightly_report;
mod order_lookup;
mod repeated_questions;
mod schedule_meeting;
mod sheet_to_crm;
mod ticket_summary;

use super::conversation::callable;
use super::direct::Direct;

/// In the order of the tables.
pub const WORKFLOWS: &[Workflow] = &[
    sheet_to_crm::WORKFLOW,
    compare_companies::WORKFLOW,
    flaky_test::WORKFLOW,
    join_databases::WORKFLOW,
    ticket_summary::WORKFLOW,
    expense_audit::WORKFLOW,
    repeated_questions::WORKFLOW,
    nightly_report::WORKFLOW,
    schedule_meeting::WORKFLOW,
    incident::WORKFLOW,
    dedupe_contacts::WORKFLOW,
    order_lookup::WORKFLOW,
    morning_briefing::WORKFLOW,
];

/// Results of at least this many tokens make a workflow one that is heavy with data.
pub const DATA_HEAVY: usize = 30_000;

/// A task that an agent gets.
#[derive(Debug)]
pub struct Workflow {
    pub name: &'static str,
    /// Whether tools answer with [`DATA_HEAVY`] tokens.
    pub is_data_heavy: bool,
    /// Every service that it needs.
    pub services: &'static [&'static str],
    /// What an agent searches for that does not know the tools.
    pub searches: &'static [&'static str],
    /// The tools that its programs call, as `service.tool`.
    pub uses: &'static [&'static str],
    /// What the user asks, one after the other.
    pub questions: &'static [Question],
}

/// One thing that the user asks.
#[derive(Debug)]
pub struct Question {
    pub text: &'static str,
    /// The last of them prints the answer. One before it looks at the shape of a result
    /// that no schema tells.
    pub programs: &'static [&'static str],
    /// Makes the calls and says what a model concludes from the results.
    pub direct: fn(&mut Direct) -> Result<String, String>,
}

impl Workflow {
    /// The callable names of the tools that it uses.
    pub fn tools(&self) -> impl Iterator<Item = String> {
        let split = self.uses.iter().filter_map(|tool| tool.split_once('.'));
        split.map(|(service, tool)| callable(service, tool))
    }
}
