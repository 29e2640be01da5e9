//! The requests that follow a run at present. A run that may wait for a person outlives the request
//! that started it: later requests follow it, sometimes several at once and sometimes none.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use onecall_core::{
    BoxFuture, Caller, CallerCapabilities, ClientId, Media, ProgressReport, RunId, ServerQuestion,
    ServerQuestionError,
};
use onecall_runtime::{CallEvent, Observer};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{DurableRuns, StopReason, lock};

/// The client of a run that no request follows when its execution begins.
const NO_CLIENT: ClientId = ClientId(0);

/// The requests that follow one run in this process, oldest first. The list exists as long as the
/// run is executed here or a request follows it.
#[derive(Default)]
pub(crate) struct Followers {
    list: watch::Sender<Vec<Follower>>,
    next: AtomicU64,
}

/// One request that follows a run.
struct Follower {
    number: u64,
    observer: Arc<dyn Observer>,
    caller: Option<Arc<Caller>>,
}

impl Followers {
    fn join(&self, observer: Arc<dyn Observer>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let caller = observer.caller();
        self.list.send_modify(|list| list.push(Follower { number, observer, caller }));
        number
    }

    fn leave(&self, number: u64) {
        self.list.send_modify(|list| list.retain(|follower| follower.number != number));
    }

    fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    fn for_each(&self, act: impl Fn(&Follower)) {
        self.list.borrow().iter().for_each(act);
    }

    /// Passes a server's progress report on to every follower that has asked for progress.
    fn report_progress(&self, report: ProgressReport<'_>) {
        self.for_each(|follower| {
            if let Some(progress) = follower.caller.as_ref().and_then(|it| it.progress.as_ref()) {
                progress(report);
            }
        });
    }

    /// Puts a question to the newest follower whose client can answer it. While no request follows
    /// the run, the question waits. If a follower leaves before its client has answered, the question
    /// goes to the next one.
    async fn ask(&self, question: ServerQuestion) -> Result<Box<RawValue>, ServerQuestionError> {
        let mut list = self.list.subscribe();
        let mut asked = HashSet::new();
        loop {
            let next = next_to_ask(&list.borrow_and_update(), &question, &asked)?;
            match next {
                Some((number, caller)) => {
                    asked.insert(number);
                    match caller.ask(question.clone()).await {
                        // The follower has left, or is about to.
                        Err(ServerQuestionError::Unanswerable(_)) => {}
                        answer => return answer,
                    }
                }
                None if list.changed().await.is_ok() => {}
                // The channel cannot be closed, because `self` owns the sender.
                None => return Err(ServerQuestionError::TimedOut),
            }
        }
    }
}

/// The newest follower whose client can answer a question, apart from those that were asked before;
/// `None` if there is no other follower.
///
/// # Errors
/// If there are other followers, and none of their clients can answer the question.
fn next_to_ask(
    list: &[Follower],
    question: &ServerQuestion,
    asked: &HashSet<u64>,
) -> Result<Option<(u64, Arc<Caller>)>, ServerQuestionError> {
    let mut others = list.iter().rev().filter(|it| !asked.contains(&it.number)).peekable();
    if others.peek().is_none() {
        return Ok(None);
    }
    let can_answer =
        |caller: &&Arc<Caller>| caller.capabilities.permit(question.kind, &question.params);
    let found = others.find_map(|it| {
        let caller = it.caller.as_ref().filter(can_answer)?;
        Some((it.number, Arc::clone(caller)))
    });
    found.map(Some).ok_or(ServerQuestionError::Unsupported(question.kind.method()))
}

/// Observes an execution of a run for all requests that follow the run.
pub(super) struct FollowedRun {
    pub(super) followers: Arc<Followers>,
    /// The name of the client that began the run.
    pub(super) client: String,
    /// What the client that began the run can be asked. It counts if no request follows the run
    /// when its execution begins.
    pub(super) capabilities: CallerCapabilities,
    /// Whether other requests can follow the run later, which they can if it may wait for a person.
    pub(super) can_be_continued: bool,
}

impl Observer for FollowedRun {
    fn queued(&self, ahead: usize) {
        self.followers.for_each(|follower| follower.observer.queued(ahead));
    }

    fn call_event(&self, event: &CallEvent<'_>) {
        self.followers.for_each(|follower| follower.observer.call_event(event));
    }

    /// The client as the servers of the run see it: identity, capabilities and trace are those of
    /// the first follower, and the channels lead to whoever follows the run when they are used.
    fn caller(&self) -> Option<Arc<Caller>> {
        let first = self.followers.list.borrow().first().and_then(|it| it.caller.clone());
        let nobody = || {
            let capabilities = self.capabilities.clone();
            Arc::new(Caller { capabilities, ..Caller::silent(NO_CLIENT) })
        };
        let reported = Arc::clone(&self.followers);
        let report = Arc::new(move |report: ProgressReport<'_>| reported.report_progress(report));
        // A later follower may want progress that the first one does not want. Otherwise servers are
        // not asked for progress in each call for nothing.
        let is_wanted =
            self.can_be_continued || first.as_ref().is_none_or(|it| it.progress.is_some());
        let first = first.unwrap_or_else(nobody);
        let asked = Arc::clone(&self.followers);
        Some(Arc::new(Caller {
            progress: is_wanted.then_some(report as _),
            questions: Arc::new(move |question| {
                let followers = Arc::clone(&asked);
                Box::pin(async move {
                    let answer = timeout(ServerQuestion::ANSWER_TIMEOUT, followers.ask(question));
                    answer.await.unwrap_or(Err(ServerQuestionError::TimedOut))
                })
            }),
            // The questions of servers are answered by the clients that follow the run at the time.
            input: None,
            ..Caller::clone(&first)
        }))
    }

    fn client(&self) -> String {
        self.client.clone()
    }

    fn stdout(&self, bytes: &[u8]) {
        self.followers.for_each(|follower| follower.observer.stdout(bytes));
    }

    fn stderr(&self, bytes: &[u8]) {
        self.followers.for_each(|follower| follower.observer.stderr(bytes));
    }

    fn displayed(&self, media: &Media) {
        self.followers.for_each(|follower| follower.observer.displayed(media));
    }

    fn room_for_answer(&self) -> BoxFuture<'_, ()> {
        let first = self.followers.list.borrow().first().map(|it| Arc::clone(&it.observer));
        Box::pin(async move {
            if let Some(first) = first {
                first.room_for_answer().await;
            }
        })
    }
}

/// A request that follows a run, until this is dropped.
pub struct RunFollower {
    runs: Arc<DurableRuns>,
    run: RunId,
    followers: Arc<Followers>,
    number: u64,
}

impl RunFollower {
    /// The run that is followed.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Stops following the run, because the client of the request has left. If no other request
    /// follows the run, it is cancelled unless it waits for a person.
    pub fn client_has_left(self) {
        let (runs, run) = (Arc::clone(&self.runs), self.run.clone());
        let followers = Arc::clone(&self.followers);
        drop(self);
        if let Some(live) = runs.live(&run)
            && followers.is_empty()
            && !live.is_waiting()
        {
            live.stop(StopReason::Cancelled);
        }
    }
}

impl Drop for RunFollower {
    fn drop(&mut self) {
        self.followers.leave(self.number);
    }
}

impl DurableRuns {
    /// The followers of a run, which may be none.
    pub(super) fn followers_of(&self, run: &RunId) -> Arc<Followers> {
        let mut all = lock(&self.followers);
        if let Some(known) = all.get(run).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, followers| followers.strong_count() > 0);
        let followers = Arc::new(Followers::default());
        all.insert(run.clone(), Arc::downgrade(&followers));
        followers
    }

    /// Makes `observer` follow a run, whether or not this process executes it at the moment.
    pub(crate) fn follow(
        self: &Arc<Self>,
        run: &RunId,
        observer: Arc<dyn Observer>,
    ) -> RunFollower {
        let followers = self.followers_of(run);
        let number = followers.join(observer);
        RunFollower { runs: Arc::clone(self), run: run.clone(), followers, number }
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::{ServerName, ServerQuestionKind};
    use serde_json::json;

    use super::*;

    /// A client that answers every question it can be asked in the same way.
    struct TestClient(Arc<Caller>);

    impl TestClient {
        fn new(capability: &str, answer: Result<&str, ServerQuestionError>) -> Arc<Self> {
            let answer = answer.map(str::to_owned);
            let caller = Caller {
                capabilities: CallerCapabilities::of(&json!({ capability: {} })),
                questions: Arc::new(move |_| {
                    let text = answer.clone().map(|it| RawValue::from_string(it).unwrap());
                    Box::pin(std::future::ready(text))
                }),
                ..Caller::silent(ClientId(1))
            };
            Arc::new(Self(Arc::new(caller)))
        }
    }

    impl Observer for TestClient {
        fn caller(&self) -> Option<Arc<Caller>> {
            Some(Arc::clone(&self.0))
        }
    }

    async fn ask(followers: &Followers) -> Result<String, ServerQuestionError> {
        let question = ServerQuestion {
            server: ServerName::new("s"),
            kind: ServerQuestionKind::Sampling,
            params: RawValue::from_string("{}".to_owned()).unwrap(),
        };
        followers.ask(question).await.map(|answer| answer.get().to_owned())
    }

    #[tokio::test]
    async fn the_newest_follower_that_can_answers() {
        let followers = Followers::default();
        followers.join(TestClient::new("sampling", Ok("1")));
        followers.join(TestClient::new("sampling", Ok("2")));
        followers.join(TestClient::new("roots", Ok("3")));
        assert_eq!(ask(&followers).await.as_deref(), Ok("2"));
        followers.leave(1);
        assert_eq!(ask(&followers).await.as_deref(), Ok("1"));
        followers.leave(0);
        let unsupported = ServerQuestionError::Unsupported("sampling/createMessage");
        assert_eq!(ask(&followers).await, Err(unsupported));
    }

    #[tokio::test]
    async fn a_question_waits_for_a_follower_that_stays() {
        let followers = Followers::default();
        let gone = ServerQuestionError::Unanswerable("the client is gone");
        let others = async {
            // Each of them joins when the question has been polled.
            tokio::task::yield_now().await;
            followers.join(TestClient::new("sampling", Err(gone)));
            tokio::task::yield_now().await;
            followers.join(TestClient::new("sampling", Ok("1")));
        };
        let (answer, ()) = tokio::join!(ask(&followers), others);
        assert_eq!(answer.as_deref(), Ok("1"));
    }

    #[test]
    fn servers_are_asked_for_progress_if_a_request_may_want_it() {
        let asks = |progress: Option<onecall_core::ProgressChannel>, can_be_continued| {
            let followers = Arc::<Followers>::default();
            let caller = Caller { progress, ..Caller::silent(ClientId(1)) };
            followers.join(Arc::new(TestClient(Arc::new(caller))));
            let (client, capabilities) = (String::new(), CallerCapabilities::default());
            let run = FollowedRun { followers, client, capabilities, can_be_continued };
            run.caller().is_some_and(|caller| caller.progress.is_some())
        };
        assert!(asks(Some(Arc::new(|_| {})), false));
        assert!(asks(None, true));
        assert!(!asks(None, false));
    }
}
