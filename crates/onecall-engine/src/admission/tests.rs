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
    request_admission_of("", admission, memory)
}

/// A program of a user that has asked for its permit.
fn request_admission_of(
    user: &'static str,
    admission: &Arc<Admission>,
    memory: Option<u64>,
) -> AdmissionFuture {
    let admission = Arc::clone(admission);
    let mut admission_future: AdmissionFuture =
        Box::pin(async move { admission.enter(user, memory, Some(QUEUE_TIMEOUT), |_| {}).await });
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

/// Which of the waiting programs are admitted now.
fn admitted(waiting: &mut [AdmissionFuture]) -> (Vec<usize>, Vec<AdmissionPermit>) {
    let permits = waiting.iter_mut().enumerate().filter_map(|(number, it)| {
        // A future that is complete must not be polled again.
        let permit = poll_admitted(it)?;
        *it = Box::pin(std::future::pending());
        Some((number, permit))
    });
    permits.unzip()
}

#[test]
fn one_users_thousand_programs_delay_another_user_by_one_turn() {
    in_runtime(|| {
        let admission = admission(2, 100);
        let mut anna: Vec<_> =
            (0..1_000).map(|_| request_admission_of("anna", &admission, Some(1))).collect();
        let (numbers, mut running) = admitted(&mut anna);
        assert_eq!(numbers, [0, 1]);
        let ben = request_admission_of("ben", &admission, Some(1));
        let mut waiting = anna;
        waiting.push(ben);
        let mut order = Vec::new();
        for _ in 0..4 {
            running.remove(0);
            let (numbers, permits) = admitted(&mut waiting);
            order.extend(numbers);
            running.extend(permits);
        }
        assert_eq!(order, [2, 1_000, 3, 4]);
    });
}

#[test]
fn a_full_queue_of_one_user_has_a_place_for_another() {
    in_runtime(|| {
        let admission = admission(1, 100);
        let running = poll_admitted(&mut request_admission(&admission, Some(1))).unwrap();
        let mut waiting: Vec<_> =
            (0..MAX_WAITING).map(|_| request_admission_of("anna", &admission, Some(1))).collect();
        assert!(poll_once(&mut request_admission_of("anna", &admission, Some(1))).is_some());
        waiting.push(request_admission_of("ben", &admission, Some(1)));
        let (_, nobody) = admitted(&mut waiting);
        assert!(nobody.is_empty());
        drop(running);
        drop(admitted(&mut waiting));
        let (numbers, _permits) = admitted(&mut waiting);
        assert_eq!(numbers, [MAX_WAITING]);
    });
}

#[test]
fn a_user_at_the_limit_waits_and_others_do_not() {
    in_runtime(|| {
        let admission = admission(10, 100);
        admission.set_programs_per_user(Some(2));
        let mut anna: Vec<_> =
            (0..4).map(|_| request_admission_of("anna", &admission, Some(1))).collect();
        let (numbers, mut of_anna) = admitted(&mut anna);
        assert_eq!(numbers, [0, 1]);
        // A session's program has its memory, and still counts.
        let mut session = request_admission_of("anna", &admission, None);
        assert!(poll_admitted(&mut session).is_none());
        let _ben = poll_admitted(&mut request_admission_of("ben", &admission, Some(1))).unwrap();
        assert_eq!(load(&admission), (3, 3, 3));
        of_anna.remove(0);
        let (numbers, permits) = admitted(&mut anna);
        assert_eq!(numbers, [2]);
        of_anna.extend(permits);
        // A program that is cancelled while it waits leaves no hole.
        anna.pop();
        of_anna.remove(0);
        let _session = poll_admitted(&mut session).unwrap();
        assert_eq!(load(&admission), (3, 0, 2));
        drop(of_anna);
        admission.set_programs_per_user(None);
        let more: Vec<_> =
            (0..5).map(|_| request_admission_of("anna", &admission, Some(1))).collect();
        assert_eq!(load(&admission), (7, 0, 6));
        drop(more);
    });
}

#[test]
fn a_large_program_keeps_its_turn_against_other_users() {
    in_runtime(|| {
        let admission = admission(10, 100);
        let first = poll_admitted(&mut request_admission_of("anna", &admission, Some(60))).unwrap();
        let mut large = request_admission_of("anna", &admission, Some(80));
        let mut small = request_admission_of("ben", &admission, Some(10));
        assert!(poll_admitted(&mut large).is_none() && poll_admitted(&mut small).is_none());
        drop(first);
        let _large = poll_admitted(&mut large).unwrap();
        let _small = poll_admitted(&mut small).unwrap();
        assert_eq!(load(&admission), (2, 0, 90));
    });
}

/// Calls of it may have happened, and it cannot be run again like a program that is refused.
#[tokio::test]
async fn a_continued_run_is_not_refused_and_waits_however_long_it_takes() {
    let admission = admission(1, 100);
    let running = poll_admitted(&mut request_admission(&admission, Some(1))).unwrap();
    let waiting: Vec<_> =
        (0..MAX_WAITING).map(|_| request_admission(&admission, Some(1))).collect();
    let enter = |queue_timeout| {
        let admission = Arc::clone(&admission);
        async move { admission.enter("", Some(1), queue_timeout, |_| {}).await }
    };
    let mut continued: AdmissionFuture = Box::pin(enter(None));
    assert!(poll_once(&mut continued).is_none());
    drop(waiting);
    assert!(enter(Some(Duration::from_millis(1))).await.is_err());
    assert!(poll_once(&mut continued).is_none());
    drop(running);
    assert!(poll_admitted(&mut continued).is_some());
}
