//! The rows of durable runs.

use onecall_core::storage::{DurableRun, DurableState, FinalAnswer, Lease};
use onecall_core::{Principal, RunId, Timestamp, UserName};

use super::Columns;
use crate::encoding::names::parse_name;
use crate::encoding::to_u64;

/// The columns that [`read_run`] reads, in its order.
pub(crate) const RUN_COLUMNS: &str = "id, kind, client, started_ms, configuration, seed, state, \
    in_place, fence, owner, lease_until_ms, ended_ms, request, answer, \"user\", groups, \
    interruptions";

/// How many runs are removed in one transaction, so that other processes can write in between.
pub(crate) const BATCH: i64 = 500;

/// The groups of the user of a run, as they are stored.
pub(crate) fn groups_text(run: &DurableRun) -> String {
    // A list of texts can always be written.
    serde_json::to_string(&run.principal.groups).unwrap_or_default()
}

/// The answer of a run, if it has ended.
pub(crate) fn final_answer(run: &DurableRun) -> Option<&FinalAnswer> {
    match &run.state {
        DurableState::Ended(answer) => Some(answer),
        DurableState::Running | DurableState::Waiting => None,
    }
}

pub(crate) fn read_run<R: Columns>(row: &R) -> Result<DurableRun, R::Error> {
    let lease = row.optional_text(9)?.zip(row.optional_number(10)?);
    let lease = lease.map(|(owner, until)| (owner, Timestamp(until)));
    let fence = to_u64(row.number(8)?);
    let in_place = row.optional_text(7)?;
    let ended = row.optional_number(11)?;
    let state = match (ended, row.text(6)?.as_str()) {
        (Some(at), _) => DurableState::Ended(FinalAnswer {
            result: row.optional_text(13)?.unwrap_or_default(),
            at: Timestamp(at),
        }),
        (None, "running") => DurableState::Running,
        (None, "waiting") => DurableState::Waiting,
        (None, _) => return Err(R::malformed(6)),
    };
    Ok(DurableRun {
        id: RunId::from_existing(row.text(0)?),
        kind: row.text(1)?,
        principal: Principal {
            user: UserName::from_existing(row.text(14)?),
            groups: row.json(15)?,
        },
        client: row.text(2)?,
        started: Timestamp(row.number(3)?),
        configuration: row.text(4)?,
        seed: row.array(5)?,
        state,
        in_place: in_place
            .map(|name| parse_name(&name).ok_or_else(|| R::malformed(7)))
            .transpose()?,
        lease: lease.map(|(owner, until)| Lease { owner, fence, until }),
        // The first lease has the number 1, each further one continues the run, and the end takes a
        // number of its own.
        resumed: fence.saturating_sub(1 + u64::from(ended.is_some())),
        interruptions: to_u64(row.number(16)?),
        request: row.text(12)?,
    })
}
