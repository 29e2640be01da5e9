//! Converts profiles into filters for the kernel.
//!
//! A filter of seccompiler has one action for everything it matches, so each kind of refusal is a
//! filter of its own. The kernel runs all filters and takes the strictest result; of two errors,
//! that of the later filter.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::profile::{Action, Condition, Operator, Profile, Rule};
use super::system_calls;

/// The filters of a profile, to be installed in this order.
pub(super) fn filters(profile: &Profile) -> Result<Vec<BpfProgram>, String> {
    let mut filters = Vec::new();
    if profile.default_action == Action::Refuse {
        // Calls that are refused with another error pass here.
        let rest = SeccompAction::Errno(profile.default_errno);
        filters.push(filter(&profile.rules, SeccompAction::Allow, rest)?);
    }
    for rule in profile.rules.iter().filter(|rule| rule.action == Action::Refuse) {
        let error = SeccompAction::Errno(rule.errno.unwrap_or(profile.default_errno));
        filters.push(filter(std::slice::from_ref(rule), error, SeccompAction::Allow)?);
    }
    Ok(filters)
}

fn filter(
    rules: &[Rule],
    matching: SeccompAction,
    otherwise: SeccompAction,
) -> Result<BpfProgram, String> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(text)?;
    let filter = SeccompFilter::new(by_number(rules)?, otherwise, matching, architecture);
    BpfProgram::try_from(filter.map_err(text)?).map_err(text)
}

/// The alternatives for each call; empty if it matches with any arguments.
fn by_number(rules: &[Rule]) -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let table = system_calls();
    let mut numbers: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for rule in rules {
        let conditions = rule.conditions.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
        for name in &rule.names {
            let call = table.iter().find(|call| call.name == name);
            let call = call.ok_or_else(|| format!("the kernel has no call '{name}'"))?;
            let Some(number) = call.number else { continue };
            let is_unconditional = numbers.get(&number).is_some_and(Vec::is_empty);
            let alternatives = numbers.entry(number).or_default();
            if conditions.is_empty() {
                alternatives.clear();
            } else if !is_unconditional {
                alternatives.push(SeccompRule::new(conditions.clone()).map_err(text)?);
            }
        }
    }
    Ok(numbers)
}

fn condition(condition: &Condition) -> Result<SeccompCondition, String> {
    let (operator, value) = match condition.op {
        Operator::Equal => (SeccompCmpOp::Eq, condition.value),
        Operator::Less => (SeccompCmpOp::Lt, condition.value),
        Operator::Greater => (SeccompCmpOp::Gt, condition.value),
        Operator::Masked => (SeccompCmpOp::MaskedEq(condition.value), condition.value_two),
    };
    SeccompCondition::new(condition.index, SeccompCmpArgLen::Qword, operator, value).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
