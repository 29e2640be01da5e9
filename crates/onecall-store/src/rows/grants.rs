//! The rows of approvals that cover later calls.

use onecall_core::storage::Grant;
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, CallableName, ItemId, RunId, Timestamp,
    UserName, Verdict,
};

use super::Columns;

/// The columns that [`read_grant`] reads, in its order.
pub(crate) const COLUMNS: &str = "item, name, run_id, constraints, until_ms, given_by, \"user\"";

/// What an approval covers, as it is stored.
pub(crate) struct GrantScope<'a> {
    /// The run that it is limited to.
    pub(crate) run: Option<&'a str>,
    pub(crate) constraints: String,
    pub(crate) until: Option<i64>,
}

impl<'a> GrantScope<'a> {
    /// What an answer covers; `None` if it covers no later calls.
    pub(crate) fn of(question: &'a ApprovalQuestion, answer: &AnsweredVerdict) -> Option<Self> {
        let Verdict::Approve { scope, .. } = &answer.verdict else { return None };
        match scope {
            ApprovalScope::Once => None,
            ApprovalScope::Run => Some(Self {
                run: Some(question.run.as_str()),
                constraints: "{}".to_owned(),
                until: None,
            }),
            ApprovalScope::Tool { constraints, until } => Some(Self {
                run: None,
                constraints: serde_json::Value::Object(constraints.clone()).to_string(),
                until: Some(*until),
            }),
        }
    }
}

pub(crate) fn read_grant<R: Columns>(row: &R) -> Result<Grant, R::Error> {
    Ok(Grant {
        item: ItemId::known(row.text(0)?),
        name: CallableName::new(row.text(1)?),
        user: UserName::from_existing(row.text(6)?),
        run: row.optional_text(2)?.map(RunId::from_existing),
        // Without its constraints an approval would cover more than was approved.
        constraints: row.json(3)?,
        until: row.optional_number(4)?.map(Timestamp),
        by: row.text(5)?,
    })
}
