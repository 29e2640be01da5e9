//! What happens to the gateways, at random: they are killed, stopped, and cut off from the database.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use super::gateways::Place;
use crate::durable::Random;

/// How long a gateway is cut off from the database at most: longer than a call to the store waits, and several
/// leases.
pub const LONGEST_CUT: Duration = Duration::from_secs(4 * super::gateways::LEASE_SECONDS);

/// The longest time between two troubles, in milliseconds.
const LONGEST_PEACE: u64 = 2_000;

/// The longest time for which a place has no gateway, in milliseconds.
const LONGEST_ABSENCE: u64 = 1_000;

/// How often the end of a cut is looked for.
const TICK: Duration = Duration::from_millis(20);

/// What happens to a gateway.
#[derive(Clone, Copy)]
enum Trouble {
    Cut,
    Killed,
    Stopped,
    Disconnected,
}

impl Trouble {
    /// The kinds, in the order in which each of them comes first.
    const ALL: [Self; 4] = [Self::Cut, Self::Killed, Self::Stopped, Self::Disconnected];

    fn random(random: &mut Random) -> Self {
        match random.below(8) {
            0..3 => Self::Killed,
            3..5 => Self::Stopped,
            5..7 => Self::Cut,
            _ => Self::Disconnected,
        }
    }
}

/// Troubles that a seed determines.
pub struct Troubles {
    random: Random,
    /// When the cut of each place ends.
    cuts: Vec<Option<Instant>>,
    next: Instant,
    kills: u64,
    stops: u64,
    cut: u64,
    closed: u64,
    longest_stop: Duration,
}

impl fmt::Display for Troubles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, stops, cut, closed, longest_stop, .. } = self;
        let seconds = longest_stop.as_secs_f64();
        write!(
            formatter,
            "{kills} gateways killed, {stops} stopped (in at most {seconds:.1} s), {cut} cut off from the \
             database, {closed} disconnected from it",
        )
    }
}

impl Troubles {
    pub fn new(seed: u64, places: usize) -> Self {
        let (random, cuts, next) = (Random(seed), vec![None; places], Instant::now());
        let (kills, stops, cut, closed) = (0, 0, 0, 0);
        Self { random, cuts, next, kills, stops, cut, closed, longest_stop: Duration::ZERO }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.kills + self.stops + self.cut + self.closed
    }

    /// Whether there was one of each kind.
    pub fn are_varied(&self) -> bool {
        [self.kills, self.stops, self.cut, self.closed].iter().all(|count| *count > 0)
    }

    /// Ends cuts that are over, and makes the next trouble when its time has come.
    pub fn go_on(&mut self, places: &mut [Place]) {
        for (cut, place) in self.cuts.iter_mut().zip(places.iter()) {
            if cut.is_some_and(|end| Instant::now() >= end) {
                *cut = None;
                place.link.restore();
            }
        }
        if Instant::now() < self.next {
            thread::sleep(TICK);
            return;
        }
        self.make(places);
        let peace = Duration::from_millis(self.random.below(LONGEST_PEACE));
        self.next = Instant::now() + peace;
    }

    fn make(&mut self, places: &mut [Place]) {
        let index = usize::try_from(self.random.below(places.len() as u64)).unwrap_or(0);
        let Some(place) = places.get_mut(index) else { return };
        let first = usize::try_from(self.count()).ok().and_then(|it| Trouble::ALL.get(it).copied());
        match first.unwrap_or_else(|| Trouble::random(&mut self.random)) {
            Trouble::Killed => {
                self.kills += 1;
                place.kill();
                thread::sleep(Duration::from_millis(self.random.below(LONGEST_ABSENCE)));
                place.start();
            }
            Trouble::Stopped => {
                self.stops += 1;
                let length = place.stop();
                self.longest_stop = self.longest_stop.max(length);
                place.start();
            }
            Trouble::Cut => {
                self.cut += 1;
                place.link.cut();
                let length = self.random.below(LONGEST_CUT.as_millis() as u64);
                self.cuts[index] = Some(Instant::now() + Duration::from_millis(length));
            }
            Trouble::Disconnected => {
                self.closed += 1;
                place.link.close_connections();
            }
        }
    }

    /// Ends all cuts.
    pub fn end(&mut self, places: &[Place]) {
        places.iter().for_each(|place| place.link.restore());
        self.cuts.fill(None);
    }
}
