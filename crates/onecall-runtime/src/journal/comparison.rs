//! Compares what a program does with what its journal says that it did.

use std::sync::Arc;

use onecall_catalog::definition_digest;
use onecall_core::{CallSite, Digest, Failure, JournalCall, JournalEvent, ResolvedCall, ToolSpec};

use super::Journal;
use super::divergence::{Difference, Divergence};

impl Journal {
    /// Notes a call or question of the program, as soon as it is made: the order of events is that of
    /// the program. A call that is not the one in the journal stops the run.
    pub(crate) fn called(&self, call: JournalCall) {
        let mut state = self.lock();
        if !state.made.insert(call.id) {
            drop(state);
            let reason = "the program's process was ended because it used a call id twice";
            self.stop(Failure::WorkerDied { reason: reason.to_owned() });
            return;
        }
        let Some(recorded) = self.recorded.call(call.id) else {
            // Workers number their calls in the order in which they make them. Without a worker, as in
            // a plan without transforms, calls that depend on different answers come in any order.
            let has_worker = !self.recorded.observations.is_empty();
            let is_early = has_worker && call.id < self.recorded.last_call;
            if is_early || self.is_replay() {
                let difference = Difference::NewCall { name: call.name.clone() };
                self.diverge(&mut state, Divergence::at(call.site.as_ref(), difference));
            } else {
                self.append(&mut state, JournalEvent::Called(call));
            }
            return;
        };
        match difference(recorded.call, &call) {
            Some(difference) => {
                self.diverge(&mut state, Divergence::at(call.site.as_ref(), difference));
            }
            None => {
                state.unrepeated.remove(&call.id);
                self.update_live(&state);
            }
        }
    }

    /// The digest of a tool's definition, if the journal needs it: only a process that continues a run
    /// compares definitions.
    pub(crate) fn definition(
        &self,
        spec: impl FnOnce() -> Option<Arc<ToolSpec>>,
    ) -> Option<Digest> {
        if self.is_durable() { spec().map(|spec| self.digest(&spec)) } else { None }
    }

    fn digest(&self, spec: &Arc<ToolSpec>) -> Digest {
        let mut state = self.lock();
        match state.digests.get(&spec.callable) {
            Some((known, digest)) if Arc::ptr_eq(known, spec) => *digest,
            _ => {
                let digest = definition_digest(spec);
                state.digests.insert(spec.callable.clone(), (Arc::clone(spec), digest));
                digest
            }
        }
    }

    /// Compares the tool of a call with the one that the journal has. If its definition has changed,
    /// the run is stopped. A replay calls no tool, so it does not need the definition.
    pub(crate) fn check_definition(&self, call: &ResolvedCall) -> bool {
        if self.is_replay() {
            return true;
        }
        let recorded = self.recorded.call(call.id).and_then(|it| it.call.definition);
        let (Some(before), Ok(spec)) = (recorded, &call.tool) else { return true };
        if self.digest(spec) == before {
            return true;
        }
        let difference = Difference::Definition { name: call.name.clone() };
        self.diverge(&mut self.lock(), Divergence::at(call.site.as_ref(), difference));
        false
    }

    /// The result of a run that has ended: a divergence, if there was one, or if the program has not
    /// repeated all recorded calls.
    pub(crate) fn checked<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        if let Some(divergence) = self.divergence() {
            return Err(self.failure_of(&divergence));
        }
        let error = match &result {
            Ok(_) => None,
            Err(failure @ (Failure::Raised { .. } | Failure::TimedOut { .. })) => {
                let summary = failure.summary();
                Some(format!("{}: {}", summary.kind, summary.message))
            }
            Err(_) => return result,
        };
        let mut state = self.lock();
        let missing = state.unrepeated.first().and_then(|id| self.recorded.call(*id));
        let Some(missing) = missing else { return result };
        Err(self.diverge(&mut state, Divergence::missing(missing.call, error)))
    }
}

/// The difference between a recorded call and the one that the program makes now, except for the
/// definition of the tool.
fn difference(before: &JournalCall, now: &JournalCall) -> Option<Difference> {
    if before.name != now.name {
        return Some(Difference::Name { before: before.name.clone(), now: now.name.clone() });
    }
    let name = now.name.clone();
    if let (Some(before), Some(now)) = (&before.site, &now.site)
        && !is_same_site(before, now)
    {
        return Some(Difference::Site { name, before: before.clone(), now: now.clone() });
    }
    (before.arguments != now.arguments).then_some(Difference::Arguments { name })
}

/// Whether two places are the same. A line or column that the journal does not know is not compared.
fn is_same_site(before: &CallSite, now: &CallSite) -> bool {
    let is_same = |before: u32, now: u32| before == 0 || before == now;
    before.task == now.task && is_same(before.line, now.line) && is_same(before.column, now.column)
}
