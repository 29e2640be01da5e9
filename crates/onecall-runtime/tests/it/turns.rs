//! Programs of several users on one set of engines: they take turns.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures_util::future::join_all;
use onecall_core::{
    BoxFuture, CallHandler, CallResult, CallableName, Principal, Program, Resolution,
    ResolutionFuture, ResolvedCall, RunLimits, ToolError, ToolResolver, TotalLimits, UserName,
};
use onecall_engine::{EngineSettings, Engines, ProgramOutput, RunControl};
use onecall_runtime::{Observer, Runtime, UserAccess};
use testkit::bins;
use tokio::sync::oneshot;

/// A host without tools.
struct NoTools;

impl ToolResolver for NoTools {
    fn resolve<'a>(&'a self, _: &'a CallableName) -> ResolutionFuture<'a> {
        ResolutionFuture::ready(Resolution::unknown(Vec::new()))
    }

    fn revision(&self) -> u64 {
        0
    }
}

impl CallHandler for NoTools {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(std::future::ready(Err(ToolError::failed(&call.name, "there are no tools"))))
    }
}

/// Output that no test reads.
struct Silent;

impl ProgramOutput for Silent {
    fn stdout(&mut self, _: &[u8]) {}
    fn stderr(&mut self, _: &[u8]) {}
    fn show(&mut self, _: &str) {}
    fn queued(&mut self, _: usize) {}
    fn wait_for_room(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    fn remark(&mut self, _: String) {}
}

/// Notes how many programs were ahead when a program had to wait, and in which order programs print.
#[derive(Default)]
struct Notes {
    ahead: Mutex<Vec<usize>>,
    printed: Mutex<String>,
}

impl Observer for Notes {
    fn queued(&self, ahead: usize) {
        self.ahead.lock().unwrap().push(ahead);
    }

    fn stdout(&self, bytes: &[u8]) {
        self.printed.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
    }
}

#[tokio::test]
async fn one_users_many_programs_delay_anothers_by_one_turn() {
    let totals = TotalLimits { max_programs: 1, ..TotalLimits::default() };
    let settings = EngineSettings { totals, ..EngineSettings::new(bins::find("onecall")) };
    let engines = Arc::new(Engines::new(settings));
    let runtime = |user: &str| {
        let principal = Principal { user: UserName::parse(user).unwrap(), groups: BTreeSet::new() };
        let access = UserAccess { principal: Arc::new(principal), ..UserAccess::default() };
        Runtime::new(Arc::clone(&engines), Arc::new(NoTools), RunLimits::default())
            .with_access(access)
    };
    let (anna, ben) = (runtime("anna"), runtime("ben"));
    let limits = RunLimits::default();
    let control = RunControl { user: "anna", ..RunControl::default() };
    let (end, ended) = oneshot::channel::<()>();
    let mut output = Silent;
    let first = engines.run_without_program(control, &limits, &mut output, async {
        _ = ended.await;
        Ok(())
    });
    let notes = Notes::default();
    let programs: Vec<_> =
        ["anna 1", "anna 2", "anna 3", "anna 4", "ben 1", "anna 5", "ben 2"].into_iter().collect();
    let run = |label: &'static str| {
        let (anna, ben, notes) = (&anna, &ben, &notes);
        async move {
            let runtime = if label.starts_with("anna") { anna } else { ben };
            runtime.run(&Program::new(format!("print('{label}')")), notes).await
        }
    };
    let release = async {
        while engines.load().waiting < programs.len() {
            tokio::task::yield_now().await;
        }
        _ = end.send(());
    };
    let all = async {
        // Each waits before the next is started.
        let mut waiting = Vec::new();
        for label in &programs {
            let mut program = Box::pin(run(label));
            let before = engines.load().waiting;
            while engines.load().waiting == before {
                let is_pending =
                    poll_fn(|context| Poll::Ready(program.as_mut().poll(context).is_pending()));
                assert!(is_pending.await);
                tokio::task::yield_now().await;
            }
            waiting.push(program);
        }
        join_all(waiting).await
    };
    let (first, outcomes, ()) = tokio::join!(first, all, release);
    first.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()), "{outcomes:?}");
    assert_eq!(*notes.ahead.lock().unwrap(), [0, 1, 2, 3, 1, 5, 3]);
    assert_eq!(
        *notes.printed.lock().unwrap(),
        "anna 1\nben 1\nanna 2\nben 2\nanna 3\nanna 4\nanna 5\n"
    );
}
