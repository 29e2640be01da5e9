//! The clocks of a program: how long it has been running, and the clock of its timers, which stands
//! still while the program only waits for a person.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

thread_local! {
    static CLOCK: Cell<Option<Clock>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    /// When this process began to measure.
    since: Instant,
    /// How long the program had been running by then, in an earlier process.
    running_before: Duration,
    /// What the clock of the timers showed then.
    timers_before: Duration,
    /// How long the clock of the timers has stood still since then.
    paused: Duration,
    /// When it was stopped, if it stands still now.
    paused_since: Option<Instant>,
}

impl Clock {
    fn starting_at(running: Duration, timers: Duration) -> Self {
        let since = Instant::now();
        let (running_before, timers_before) = (running, timers);
        Self { since, running_before, timers_before, paused: Duration::ZERO, paused_since: None }
    }

    fn timer_clock(&self, now: Instant) -> Duration {
        let until = self.paused_since.unwrap_or(now);
        let counted = until.saturating_duration_since(self.since).saturating_sub(self.paused);
        self.timers_before + counted
    }

    fn instant_at(&self, timer_clock: Duration) -> Option<Instant> {
        let counted = timer_clock.saturating_sub(self.timers_before);
        self.since.checked_add(counted)?.checked_add(self.paused)
    }

    fn pause(&mut self, now: Instant) {
        self.paused_since.get_or_insert(now);
    }

    fn resume(&mut self, now: Instant) {
        if let Some(since) = self.paused_since.take() {
            self.paused += now.saturating_duration_since(since);
        }
    }
}

/// Starts the clocks of a program.
pub(super) fn start() {
    continue_from(Duration::ZERO, Duration::ZERO);
}

/// Starts the clocks of a program that began in an earlier process, with what they show now.
pub(super) fn continue_from(running_time: Duration, timer_clock: Duration) {
    CLOCK.set(Some(Clock::starting_at(running_time, timer_clock)));
}

/// Whether a program has begun; before that there is only the warm-up run.
pub(super) fn is_started() -> bool {
    CLOCK.get().is_some()
}

/// How long the program has been running.
pub(super) fn running_time() -> Duration {
    CLOCK.get().map_or(Duration::ZERO, |clock| clock.running_before + clock.since.elapsed())
}

/// What the clock of the timers shows.
pub(super) fn timer_clock() -> Duration {
    CLOCK.get().map_or(Duration::ZERO, |clock| clock.timer_clock(Instant::now()))
}

/// The date and time, in milliseconds since 1970.
pub(super) fn wall_clock() -> i64 {
    let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => milliseconds(since),
        Err(error) => -milliseconds(error.duration()),
    }
}

/// When the clock of the timers will show this many milliseconds, unless it is paused.
pub(super) fn instant_at(milliseconds: f64) -> Option<Instant> {
    let time = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1000.0).ok()?;
    CLOCK.get()?.instant_at(time)
}

/// Does `wait` while the clock of the timers stands still.
pub(super) fn paused<T>(wait: impl FnOnce() -> T) -> T {
    let change = |change: fn(&mut Clock, Instant)| {
        let mut clock = CLOCK.get();
        if let Some(clock) = &mut clock {
            change(clock, Instant::now());
        }
        CLOCK.set(clock);
    };
    change(Clock::pause);
    let result = wait();
    change(Clock::resume);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_have_the_time_left_that_they_had_before_a_pause() {
        let mut clock = Clock::starting_at(Duration::from_secs(100), Duration::from_secs(7));
        let at = |seconds| clock.since + Duration::from_secs(seconds);
        let [begun, pause, resume, later] = [at(0), at(2), at(1_000), at(1_003)];
        let seconds = Duration::from_secs;
        assert_eq!(clock.timer_clock(begun), seconds(7));
        assert_eq!(clock.instant_at(seconds(12)), Some(begun + seconds(5)));
        clock.pause(pause);
        assert_eq!(clock.timer_clock(resume), seconds(9));
        clock.resume(resume);
        assert_eq!(clock.timer_clock(later), seconds(12));
        assert_eq!(clock.instant_at(seconds(12)), Some(later));
    }
}
