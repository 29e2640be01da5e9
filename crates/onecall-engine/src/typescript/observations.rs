//! The format of what a journalled program observes: values of its clocks, and the order in which
//! answers and timers reach its event loop.
//!
//! Each observation is a kind (one byte) and numbers of variable length. Times are stored as
//! differences from the last one of the same clock, so most observations take two to four bytes.

use std::borrow::Cow;

/// The first number of the first observation; changes with the format.
const FORMAT: u64 = 1;

/// One thing that a program observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observation {
    /// The program began at this time, in milliseconds since 1970.
    Started { wall_clock: i64 },
    /// The answer to a call reached the event loop.
    Answered { call: u64, timer_clock: u64 },
    /// A timer fired.
    TimerFired { timer_clock: u64 },
    /// The program set a timer.
    TimerSet { timer_clock: u64 },
    /// The program read the date and time, in milliseconds since 1970.
    WallClockRead { wall_clock: i64 },
    /// The program read how long it has been running, in microseconds.
    RunningTimeRead { running_time: u64 },
}

mod kind {
    pub(super) const STARTED: u8 = b'S';
    pub(super) const ANSWERED: u8 = b'A';
    pub(super) const TIMER_FIRED: u8 = b'F';
    pub(super) const TIMER_SET: u8 = b'T';
    pub(super) const WALL_CLOCK_READ: u8 = b'W';
    pub(super) const RUNNING_TIME_READ: u8 = b'R';
}

impl Observation {
    /// What the program did or waited for, as a part of a sentence.
    pub(super) fn description(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Answered { call, .. } => {
                return Cow::Owned(format!("the program got the answer to its call {call}"));
            }
            Self::Started { .. } => "the program began",
            Self::TimerFired { .. } => "a timer of the program fired",
            Self::TimerSet { .. } => "the program set a timer",
            Self::WallClockRead { .. } => "the program read the date and time",
            Self::RunningTimeRead { .. } => "the program read how long it has been running",
        })
    }
}

/// The last value of each clock that was written or read. Both sides of the format need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LastTimes {
    /// When the program began, in milliseconds since 1970.
    pub(super) started: i64,
    pub(super) wall_clock: i64,
    /// In microseconds.
    pub(super) timer_clock: u64,
    /// In microseconds.
    pub(super) running_time: u64,
}

impl LastTimes {
    /// Appends an observation to `bytes`.
    pub(super) fn write(&mut self, observation: Observation, bytes: &mut Vec<u8>) {
        match observation {
            Observation::Started { wall_clock } => {
                bytes.push(kind::STARTED);
                write_number(FORMAT, bytes);
                write_difference(&mut self.wall_clock, wall_clock, bytes);
                self.started = wall_clock;
            }
            Observation::Answered { call, timer_clock } => {
                bytes.push(kind::ANSWERED);
                write_number(call, bytes);
                write_increase(&mut self.timer_clock, timer_clock, bytes);
            }
            Observation::TimerFired { timer_clock } => {
                bytes.push(kind::TIMER_FIRED);
                write_increase(&mut self.timer_clock, timer_clock, bytes);
            }
            Observation::TimerSet { timer_clock } => {
                bytes.push(kind::TIMER_SET);
                write_increase(&mut self.timer_clock, timer_clock, bytes);
            }
            Observation::WallClockRead { wall_clock } => {
                bytes.push(kind::WALL_CLOCK_READ);
                write_difference(&mut self.wall_clock, wall_clock, bytes);
            }
            Observation::RunningTimeRead { running_time } => {
                bytes.push(kind::RUNNING_TIME_READ);
                write_increase(&mut self.running_time, running_time, bytes);
            }
        }
    }

    /// Removes the first observation from `bytes`; `None` if it cannot be read.
    pub(super) fn read(&mut self, bytes: &mut &[u8]) -> Option<Observation> {
        let (kind, rest) = bytes.split_first()?;
        *bytes = rest;
        Some(match *kind {
            kind::STARTED => {
                if read_number(bytes)? != FORMAT {
                    return None;
                }
                self.started = read_difference(&mut self.wall_clock, bytes)?;
                Observation::Started { wall_clock: self.started }
            }
            kind::ANSWERED => Observation::Answered {
                call: read_number(bytes)?,
                timer_clock: read_increase(&mut self.timer_clock, bytes)?,
            },
            kind::TIMER_FIRED => Observation::TimerFired {
                timer_clock: read_increase(&mut self.timer_clock, bytes)?,
            },
            kind::TIMER_SET => {
                Observation::TimerSet { timer_clock: read_increase(&mut self.timer_clock, bytes)? }
            }
            kind::WALL_CLOCK_READ => Observation::WallClockRead {
                wall_clock: read_difference(&mut self.wall_clock, bytes)?,
            },
            kind::RUNNING_TIME_READ => Observation::RunningTimeRead {
                running_time: read_increase(&mut self.running_time, bytes)?,
            },
            _ => return None,
        })
    }
}

/// Writes how much a time is later than the last one; an earlier one counts as equal.
fn write_increase(last: &mut u64, time: u64, bytes: &mut Vec<u8>) {
    write_number(time.saturating_sub(*last), bytes);
    *last = time.max(*last);
}

fn read_increase(last: &mut u64, bytes: &mut &[u8]) -> Option<u64> {
    *last = last.checked_add(read_number(bytes)?)?;
    Some(*last)
}

/// Writes the difference from the last time, which may be negative: the system's clock can be set.
fn write_difference(last: &mut i64, time: i64, bytes: &mut Vec<u8>) {
    let difference = time.wrapping_sub(*last);
    // Small numbers of either sign become small numbers without one.
    write_number((difference.wrapping_shl(1) ^ (difference >> 63)).cast_unsigned(), bytes);
    *last = time;
}

fn read_difference(last: &mut i64, bytes: &mut &[u8]) -> Option<i64> {
    let written = read_number(bytes)?;
    let difference = (written >> 1).cast_signed() ^ -(written & 1).cast_signed();
    *last = last.wrapping_add(difference);
    Some(*last)
}

/// Writes seven bits per byte, the lowest first; all bytes but the last have the highest bit set.
fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    loop {
        let [low, ..] = (number & 0x7f).to_le_bytes();
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        // The last byte has room for one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn observations_are_read_as_they_were_written() {
        let observations = [
            Observation::Started { wall_clock: 1_800_000_000_123 },
            Observation::TimerSet { timer_clock: 1_500 },
            Observation::WallClockRead { wall_clock: 1_800_000_000_200 },
            Observation::RunningTimeRead { running_time: 77_000 },
            Observation::Answered { call: 300, timer_clock: 90_000 },
            // The system's clock was set back, beyond 1970.
            Observation::WallClockRead { wall_clock: -5 },
            Observation::WallClockRead { wall_clock: i64::MIN },
            Observation::WallClockRead { wall_clock: i64::MAX },
            Observation::TimerFired { timer_clock: u64::MAX },
            Observation::Answered { call: u64::MAX, timer_clock: u64::MAX },
        ];
        let (mut writer, mut bytes) = (LastTimes::default(), Vec::new());
        observations.iter().for_each(|it| writer.write(*it, &mut bytes));
        let (mut reader, mut rest) = (LastTimes::default(), bytes.as_slice());
        for observation in observations {
            assert_eq!(reader.read(&mut rest), Some(observation));
        }
        assert_eq!((reader, rest), (writer, &[][..]));
    }

    #[test]
    fn a_sequential_call_takes_few_bytes() {
        let mut times = LastTimes { timer_clock: 1_000_000, ..LastTimes::default() };
        let mut bytes = Vec::new();
        times.write(Observation::Answered { call: 100, timer_clock: 1_000_200 }, &mut bytes);
        assert_eq!(bytes.len(), 4);
    }

    #[test]
    fn another_format_cannot_be_read() {
        assert_eq!(LastTimes::default().read(&mut &b"S\x02\x00"[..]), None);
        assert_eq!(LastTimes::default().read(&mut &b"?\x01"[..]), None);
        // More bits than a number has.
        let long = b"A\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00";
        assert_eq!(LastTimes::default().read(&mut &long[..]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_can_be_given_to_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let (mut times, mut rest) = (LastTimes::default(), bytes.as_slice());
            while times.read(&mut rest).is_some() {}
        }
    }
}
