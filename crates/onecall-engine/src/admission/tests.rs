#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::*;

const QUEUE_TIMEOUT: Duration = Duration::from_secs(60);

type AdmissionFuture = Pin<Box<dyn Future<Output = Result<AdmissionPermit, Failure>>>>;

fn admission(max_programs: usize, memory: u64) -> Arc<Admission> {
    Admission::new(TotalLimits { max_programs, memory_bytes: Some(memory) })
}

/// A program that has asked for its permit.
fn request_admission(admission: &Arc<Admission>, memory: Option<u64>) -> AdmissionFuture {
    let admission = Arc::clone(admission);
    let mut admission_future: AdmissionFuture =
        Box::pin(async move { admission.enter(memory, QUEUE_TIMEOUT, |_| {}).await });
    // A permit that is free at once is kept for the next poll.
    match poll_once(&mut admission_future) {
        Some(permit) => Box::pin(std::future::ready(permit)),
        None => admission_future,
    }
}

fn poll_once(admission_future: &mut AdmissionFuture) -> Option<Result<AdmissionPermit, Failure>> {
    match admission_future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(permit) => Some(permit),
        Poll::Pending => None,
    }
}

fn poll_admitted(admission_future: &mut AdmissionFuture) -> Option<AdmissionPermit> {
    poll_once(admission_future).map(Result::unwrap)
}

/// Timers need a runtime.
fn in_runtime(test: impl FnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _guard = runtime.enter();
    test();
}

fn load(admission: &Admission) -> (usize, usize, u64) {
    let Load { running, waiting, reserved_bytes, .. } = admission.load();
    (running, waiting, reserved_bytes)
}

#[test]
fn a_large_program_is_not_overtaken_by_small_ones() {
    in_runtime(|| {
        let admission = admission(10, 100);
        let first = poll_admitted(&mut request_admission(&admission, Some(60))).unwrap();
        let mut large = request_admission(&admission, Some(80));
        let mut small = request_admission(&admission, Some(10));
        assert!(poll_admitted(&mut large).is_none() && poll_admitted(&mut small).is_none());
        assert_eq!(load(&admission), (1, 2, 60));
        drop(first);
        let large = poll_admitted(&mut large).unwrap();
        let small = poll_admitted(&mut small).unwrap();
        assert_eq!(load(&admission), (2, 0, 90));
        drop((large, small));
        assert_eq!(load(&admission), (0, 0, 0));
    });
}

#[test]
fn a_program_that_is_not_wanted_any_more_makes_room_at_once() {
    in_runtime(|| {
        let admission = admission(10, 100);
        let _first = poll_admitted(&mut request_admission(&admission, Some(60))).unwrap();
        let large = request_admission(&admission, Some(80));
        let mut small = request_admission(&admission, Some(40));
        assert!(poll_admitted(&mut small).is_none());
        drop(large);
        let _small = poll_admitted(&mut small).unwrap();
        assert_eq!(load(&admission), (2, 0, 100));
        // One that was admitted and leaves before it knows gives its permit back.
        let waiting = request_admission(&admission, Some(10));
        drop(_small);
        assert_eq!(load(&admission), (2, 0, 70));
        drop(waiting);
        assert_eq!(load(&admission), (1, 0, 60));
    });
}

#[test]
fn a_session_that_has_its_memory_does_not_wait_for_memory() {
    in_runtime(|| {
        let admission = admission(2, 100);
        let mut session = poll_admitted(&mut request_admission(&admission, Some(60))).unwrap();
        let memory = session.memory.take();
        drop(session);
        let other = poll_admitted(&mut request_admission(&admission, Some(40))).unwrap();
        let mut large = request_admission(&admission, Some(100));
        assert!(poll_admitted(&mut large).is_none());
        let next = poll_admitted(&mut request_admission(&admission, None)).unwrap();
        // All permits are taken; when one is free, the first still lacks memory that the
        // session has, and must not keep it waiting.
        let mut after = request_admission(&admission, None);
        assert!(poll_admitted(&mut after).is_none());
        drop(next);
        drop(poll_admitted(&mut after).unwrap());
        drop((other, memory));
        assert!(poll_admitted(&mut large).is_some());
    });
}

#[test]
fn the_queue_is_bounded() {
    in_runtime(|| {
        let admission = admission(1, 100);
        let running = poll_admitted(&mut request_admission(&admission, Some(1))).unwrap();
        let waiting: Vec<_> =
            (0..MAX_WAITING).map(|_| request_admission(&admission, Some(1))).collect();
        let refused = poll_once(&mut request_admission(&admission, Some(1))).unwrap().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "too many programs run at once: 1 run and 1000 wait already; nothing of it was \
             executed; run it again later, or raise 'max_programs' and 'max_total_memory_mb' in \
             execution"
        );
        drop(waiting);
        drop(running);
        assert!(poll_admitted(&mut request_admission(&admission, Some(1))).is_some());
    });
}

#[test]
fn other_limits_hold_for_the_programs_that_wait() {
    in_runtime(|| {
        let mebibytes = |number: u64| number * MEBIBYTE;
        let admission = admission(1, mebibytes(100));
        let _first =
            poll_admitted(&mut request_admission(&admission, Some(mebibytes(50)))).unwrap();
        let mut second = request_admission(&admission, Some(mebibytes(50)));
        let mut third = request_admission(&admission, Some(mebibytes(30)));
        assert!(poll_admitted(&mut second).is_none() && poll_admitted(&mut third).is_none());
        let total =
            |megabytes| TotalLimits { max_programs: 2, memory_bytes: Some(mebibytes(megabytes)) };
        admission.set_totals(total(40));
        let refused = poll_once(&mut second).unwrap().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "MemoryLimit: the program may use 50 MB of memory, but all programs together only \
             40 MB; raise 'max_total_memory_mb' in execution, or lower 'memory_mb'"
        );
        assert!(poll_admitted(&mut third).is_none());
        admission.set_totals(total(80));
        assert!(poll_admitted(&mut third).is_some());
    });
}

#[test]
fn without_a_configured_total_a_single_program_may_use_its_whole_limit() {
    in_runtime(|| {
        let admission = Admission::new(TotalLimits::default());
        let total = admission.load().total_bytes;
        assert!(total > 0);
        let _large = poll_admitted(&mut request_admission(&admission, Some(2 * total))).unwrap();
        assert!(poll_admitted(&mut request_admission(&admission, Some(1))).is_none());
    });
}
