//! Reads the section `execution`: the limits of one program and of all programs together.

use onecall_core::{RunLimits, TotalLimits};

use crate::document::Node;
use crate::error::{Problem, Report};
use crate::parse::MEBIBYTE;
use crate::reader::{self, Section};
use crate::schema::EXECUTION;

/// The largest output limit that a configuration may set.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 100 * MEBIBYTE;

/// The largest call limit that a configuration may set.
pub(crate) const MAX_TOOL_CALLS: u64 = 10_000_000;

pub(crate) fn read_execution(node: &Node, report: &mut Report) -> Option<(RunLimits, TotalLimits)> {
    let section = Section::open(node, "execution", EXECUTION, report)?;
    let (mut limits, mut totals) = (RunLimits::default(), TotalLimits::default());
    let timeout = section.get("timeout_seconds");
    if let Some(timeout) =
        timeout.and_then(|node| reader::seconds(node, "'timeout_seconds' in execution", report))
    {
        limits.timeout = timeout;
    }
    let mut number = |key: &str, range| {
        let what = format!("'{key}' in execution");
        section.get(key).and_then(|node| reader::whole_number(node, &what, range, report))
    };
    if let Some(bytes) = number("max_output_bytes", 1..=MAX_OUTPUT_BYTES) {
        limits.max_output_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    let memory = number("memory_mb", 16..=1_048_576);
    if let Some(calls) = number("max_tool_calls", 0..=MAX_TOOL_CALLS) {
        limits.max_tool_calls = calls;
    }
    if let Some(calls) = number("max_parallel_calls", 1..=10_000) {
        limits.max_parallel_calls = usize::try_from(calls).unwrap_or(usize::MAX);
    }
    if let Some(programs) = number("max_programs", 1..=10_000) {
        totals.max_programs = usize::try_from(programs).unwrap_or(usize::MAX);
    }
    let total = number("max_total_memory_mb", 16..=1_073_741_824);
    totals.memory_bytes = total.map(|mebibytes| mebibytes * MEBIBYTE);
    limits.memory_bytes = match (memory, totals.memory_bytes) {
        (Some(mebibytes), _) => mebibytes * MEBIBYTE,
        (None, Some(total)) => limits.memory_bytes.min(total),
        (None, None) => limits.memory_bytes,
    };
    if let (Some(node), Some(total), Some(memory)) =
        (section.get("max_total_memory_mb"), total, memory)
    {
        check_total(node, total, memory, report);
    }
    Some((limits, totals))
}

/// Rejects a total that is smaller than the limit of one program, because no program could run.
fn check_total(node: &Node, total: u64, program: u64, report: &mut Report) {
    if total < program {
        let message = format!(
            "'max_total_memory_mb' in execution is {total}, less than the {program} of one \
             program ('memory_mb')"
        );
        let help = "raise it, or lower 'memory_mb'";
        report.add(Problem::new(node.at, message).with_help(help));
    }
}
