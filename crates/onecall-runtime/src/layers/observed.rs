//! Tells an observer of each call, notes it for the answer and for the record of its run, and
//! says to the layers below whom it is made for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use onecall_core::{
    BoxFuture, CallEnd, CallRecord, CallableName, Caller, Calls, Detail, Observation, Resolution,
    Resolving, ToolCall, ToolError, ToolHost, ToolValue,
};

use crate::Observer;
use crate::layers::Reused;
use crate::record::Recording;

/// Calls that are recorded; later ones are only counted.
const MAX_RECORDS: usize = 10_000;

/// Bytes of arguments that a brief record keeps.
const BRIEF_ARGUMENTS: usize = 200;

/// Bytes of arguments and answers that whole records keep in all.
const WHOLE_BYTES: usize = 64 * 1024 * 1024;

/// Watches the calls of one program.
pub struct Observed<'a> {
    inner: &'a dyn ToolHost,
    observer: &'a dyn Observer,
    caller: Option<Arc<dyn Caller>>,
    detail: Detail,
    reused: Option<&'a Reused>,
    recording: Option<&'a Recording>,
    begun: Instant,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    calls: Calls,
    bytes: usize,
}

impl<'a> Observed<'a> {
    /// Reports calls to `inner` to `observer`, and records them in as much `detail`.
    pub fn new(inner: &'a dyn ToolHost, observer: &'a dyn Observer, detail: Detail) -> Self {
        let (caller, begun) = (observer.caller(), Instant::now());
        let (reused, recording, log) = (None, None, Mutex::default());
        Self { inner, observer, caller, detail, reused, recording, begun, log }
    }

    /// The same, with somebody who knows which calls were answered from a cache.
    pub(crate) fn with_reused(self, reused: Option<&'a Reused>) -> Self {
        Self { reused, ..self }
    }

    /// The same, with the record that is made of the run.
    pub(crate) fn with_recording(self, recording: Option<&'a Recording>) -> Self {
        Self { recording, ..self }
    }

    /// The calls so far.
    pub fn calls(&self) -> Calls {
        std::mem::take(&mut self.log().calls)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a record; where it is, if there is room for it.
    fn record(&self, call: &ToolCall, now: Instant) -> Option<usize> {
        let arguments = call.arguments.get();
        let mut log = self.log();
        if log.calls.records.len() == MAX_RECORDS {
            log.calls.unrecorded += 1;
            return None;
        }
        let room = match self.detail {
            Detail::Brief => BRIEF_ARGUMENTS,
            Detail::Whole => WHOLE_BYTES.saturating_sub(log.bytes),
        };
        let kept = arguments.get(..arguments.floor_char_boundary(room)).unwrap_or_default();
        log.bytes += kept.len();
        log.calls.records.push(CallRecord {
            id: call.id,
            name: call.name.clone(),
            arguments: kept.to_owned(),
            is_whole: kept.len() == arguments.len(),
            harmless: false,
            started: now.saturating_duration_since(self.begun),
            cached: false,
            end: None,
        });
        Some(log.calls.records.len() - 1)
    }

    fn conclude(
        &self,
        id: u64,
        place: Option<usize>,
        result: &Result<ToolValue, ToolError>,
        now: Instant,
    ) {
        let cached = self.reused.is_some_and(|reused| reused.take(id));
        let mut log = self.log();
        log.calls.completed += u64::from(result.is_ok());
        let kept_bytes = log.bytes;
        let Some(record) = place.and_then(|place| log.calls.records.get_mut(place)) else { return };
        let mut kept = 0;
        let answer = match result {
            Ok(value) => {
                let size = size_of(value);
                let room = WHOLE_BYTES.saturating_sub(kept_bytes);
                if self.detail == Detail::Whole && size <= room {
                    kept = size;
                    Ok(Observation::Value(value.clone()))
                } else {
                    Ok(Observation::NotKept)
                }
            }
            Err(error) => Err(error.to_string()),
        };
        let sent = matches!(result, Ok(_) | Err(ToolError::Failed { .. }));
        let duration = now.saturating_duration_since(self.begun).saturating_sub(record.started);
        record.cached = cached;
        record.end = Some(CallEnd { duration, answer, sent });
        log.bytes += kept;
    }
}

fn size_of(value: &ToolValue) -> usize {
    match value {
        ToolValue::Nothing => 0,
        ToolValue::Json(json) => json.get().len(),
        ToolValue::Text(text) => text.len(),
    }
}

impl ToolHost for Observed<'_> {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> Resolving<'a> {
        let Some(recording) = self.recording else { return self.inner.resolve(name) };
        self.inner.resolve(name).map(|resolution| {
            if let Resolution::Callable(spec) = &resolution {
                recording.met(spec);
            }
            resolution
        })
    }

    fn call(&self, mut call: ToolCall) -> BoxFuture<'_, Result<ToolValue, ToolError>> {
        Box::pin(async move {
            let (id, name) = (call.id, call.name.clone());
            let began = Instant::now();
            let place = self.record(&call, began);
            let noted = self.recording.and_then(|recording| {
                let place = recording.call_began(&call, began)?;
                Some((recording, place))
            });
            call.caller = self.caller.clone();
            self.observer.call_started(&call);
            let result = self.inner.call(call).await;
            let ended = Instant::now();
            self.conclude(id, place, &result, ended);
            if let Some((recording, place)) = noted {
                recording.call_ended(place, &result, ended);
            }
            self.observer.call_ended(&name, &result);
            result
        })
    }
}
