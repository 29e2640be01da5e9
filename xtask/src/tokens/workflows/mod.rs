//! The workflows whose tokens are counted, one folder each: what the user asks, the programs that
//! an agent writes for it, and the calls of an agent without onecall.

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
use super::direct::DirectAgent;

/// All workflows, in the order of the tables.
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

/// A workflow counts as heavy with data if its results have at least this many tokens.
pub const DATA_HEAVY: usize = 30_000;

/// A task for an agent.
#[derive(Debug)]
pub struct Workflow {
    pub name: &'static str,
    /// Whether the results have at least [`DATA_HEAVY`] tokens.
    pub is_data_heavy: bool,
    /// Every service that it needs.
    pub services: &'static [&'static str],
    /// The searches of an agent that does not know the tools.
    pub searches: &'static [&'static str],
    /// The tools that its programs call, as `service.tool`.
    pub uses: &'static [&'static str],
    /// The questions of the user, in order.
    pub questions: &'static [Question],
}

/// One question of the user.
#[derive(Debug)]
pub struct Question {
    pub text: &'static str,
    /// The programs for it. The last one prints the answer; one before it looks at the shape of a
    /// result that has no schema.
    pub programs: &'static [&'static str],
    /// Makes the calls and returns what a model concludes from the results.
    pub direct: fn(&mut DirectAgent) -> Result<String, String>,
}

impl Workflow {
    /// The callable names of the tools that it uses.
    pub fn tools(&self) -> impl Iterator<Item = String> {
        let split = self.uses.iter().filter_map(|tool| tool.split_once('.'));
        split.map(|(service, tool)| callable(service, tool))
    }
}
