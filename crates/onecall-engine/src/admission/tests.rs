#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

type Entering = Pin<Box<dyn Future<Output = Result<Place, Failure>>>>;

fn admission(max_programs: usize, memory: u64) -> Arc<Admission> {
    Admission::new(TotalLimits { max_programs, memory_bytes: Some(memory) })
}

/// A program that has asked for its place.
fn ask(admission: &Arc<Admission>, memory: Option<u64>) -> Entering {
    let admission = Arc::clone(admission);
    let mut entering: Entering =
        Box::pin(async move { admission.enter(memory, PATIENCE, |_| {}).await });
    // A place that is free at once is kept for the next look.
    match look(&mut entering) {
        Some(place) => Box::pin(std::future::ready(place)),
        None => entering,
    }
}

fn look(entering: &mut Entering) -> Option<Result<Place, Failure>> {
    match entering.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(place) => Some(place),
        Poll::Pending => None,
    }
}

fn begins(entering: &mut Entering) -> Option<Place> {
    look(entering).map(Result::unwrap)
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
        let first = begins(&mut ask(&admission, Some(60))).unwrap();
        let mut large = ask(&admission, Some(80));
        let mut small = ask(&admission, Some(10));
        assert!(begins(&mut large).is_none() && begins(&mut small).is_none());
        assert_eq!(load(&admission), (1, 2, 60));
        drop(first);
        let large = begins(&mut large).unwrap();
        let small = begins(&mut small).unwrap();
        assert_eq!(load(&admission), (2, 0, 90));
        drop((large, small));
        assert_eq!(load(&admission), (0, 0, 0));
    });
}

#[test]
fn a_program_that_is_not_wanted_any_more_makes_room_at_once() {
    in_runtime(|| {
        let admission = admission(10, 100);
        let _first = begins(&mut ask(&admission, Some(60))).unwrap();
        let large = ask(&admission, Some(80));
        let mut small = ask(&admission, Some(40));
        assert!(begins(&mut small).is_none());
        drop(large);
        let _small = begins(&mut small).unwrap();
        assert_eq!(load(&admission), (2, 0, 100));
        // One that was admitted and leaves before it knows gives its place back.
        let waiting = ask(&admission, Some(10));
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
        let mut session = begins(&mut ask(&admission, Some(60))).unwrap();
        let memory = session.memory.take();
        drop(session);
        let other = begins(&mut ask(&admission, Some(40))).unwrap();
        let mut large = ask(&admission, Some(100));
        assert!(begins(&mut large).is_none());
        let next = begins(&mut ask(&admission, None)).unwrap();
        // All places are taken; when one is free, the first still lacks memory that the
        // session has, and must not keep it waiting.
        let mut after = ask(&admission, None);
        assert!(begins(&mut after).is_none());
        drop(next);
        drop(begins(&mut after).unwrap());
        drop((other, memory));
        assert!(begins(&mut large).is_some());
    });
}

#[test]
fn the_queue_is_bounded() {
    in_runtime(|| {
        let admission = admission(1, 100);
        let running = begins(&mut ask(&admission, Some(1))).unwrap();
        let waiting: Vec<_> = (0..MAX_WAITING).map(|_| ask(&admission, Some(1))).collect();
        let refused = look(&mut ask(&admission, Some(1))).unwrap().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "too many programs run at once: 1 run and 1000 wait already; nothing of it was \
             executed; run it again later, or raise 'max_programs' and 'max_total_memory_mb' in \
             execution"
        );
        drop(waiting);
        drop(running);
        assert!(begins(&mut ask(&admission, Some(1))).is_some());
    });
}

#[test]
fn other_limits_hold_for_the_programs_that_wait() {
    in_runtime(|| {
        let mebibytes = |number: u64| number * MEBIBYTE;
        let admission = admission(1, mebibytes(100));
        let _first = begins(&mut ask(&admission, Some(mebibytes(50)))).unwrap();
        let mut second = ask(&admission, Some(mebibytes(50)));
        let mut third = ask(&admission, Some(mebibytes(30)));
        assert!(begins(&mut second).is_none() && begins(&mut third).is_none());
        let total =
            |megabytes| TotalLimits { max_programs: 2, memory_bytes: Some(mebibytes(megabytes)) };
        admission.set_totals(total(40));
        let refused = look(&mut second).unwrap().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "MemoryLimit: the program may use 50 MB of memory, but all programs together only \
             40 MB; raise 'max_total_memory_mb' in execution, or lower 'memory_mb'"
        );
        assert!(begins(&mut third).is_none());
        admission.set_totals(total(80));
        assert!(begins(&mut third).is_some());
    });
}

#[test]
fn without_a_configured_total_a_single_program_may_use_its_whole_limit() {
    in_runtime(|| {
        let admission = Admission::new(TotalLimits::default());
        let total = admission.load().total_bytes;
        assert!(total > 0);
        let _large = begins(&mut ask(&admission, Some(2 * total))).unwrap();
        assert!(begins(&mut ask(&admission, Some(1))).is_none());
    });
}
