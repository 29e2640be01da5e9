//! The bound on processes and connections with credentials of users, over all users of a gateway. If all
//! places are taken, the least recently used server that is not in use is stopped; if all are in use, the
//! start of another one fails. Nothing waits except for a server that is being stopped.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a start waits for the place of a server that is being stopped. A stop takes a few seconds
/// even if the server ignores it.
const STOP_WAIT: Duration = Duration::from_secs(30);

/// All places are taken by servers that are in use. The display text is what a program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the limit of {limit} for processes and connections with credentials of users is reached, and all \
     are in use; try again later, or raise 'users.max_user_processes'"
)]
pub(crate) struct ProcessLimitReached {
    limit: usize,
}

/// The places for servers that run with credentials of users, and how long an unused server keeps its
/// place. Clones share the same places.
#[derive(Clone)]
pub struct UserProcesses(Arc<Mutex<Places>>);

/// A server that has a place.
pub(crate) trait PlaceHolder: Send + Sync {
    /// Since when the server is not in use; `None` while it is in use, starting or stopping.
    fn unused_since(&self) -> Option<Instant>;

    /// Begins to stop the server, unless it has come into use; returns whether it stops.
    fn stop_if_unused(&self) -> bool;
}

struct Places {
    limit: usize,
    idle: Duration,
    /// The servers that have a place.
    holders: HashMap<PlaceId, Weak<dyn PlaceHolder>>,
    /// The places whose servers are being stopped or have ended.
    ending: HashSet<PlaceId>,
    waiting: VecDeque<Waiting>,
    next_id: PlaceId,
}

type PlaceId = u64;

/// A start that waits for the place of a server that is being stopped.
struct Waiting {
    holder: Weak<dyn PlaceHolder>,
    granted: oneshot::Sender<Place>,
}

/// A place, which is free again when this is dropped.
pub(crate) struct Place {
    id: PlaceId,
    places: Option<Arc<Mutex<Places>>>,
}

impl UserProcesses {
    /// Creates `limit` places. A server that was not used for `idle` is stopped.
    #[must_use]
    pub fn new(limit: usize, idle: Duration) -> Self {
        Self(Arc::new(Mutex::new(Places {
            limit,
            idle,
            holders: HashMap::new(),
            ending: HashSet::new(),
            waiting: VecDeque::new(),
            next_id: 0,
        })))
    }

    /// Applies a new configuration. Servers that have a place keep it, also beyond a lower limit.
    pub fn reconfigure(&self, limit: usize, idle: Duration) {
        let mut places = lock(&self.0);
        (places.limit, places.idle) = (limit, idle);
        places.serve_waiting(&self.0);
    }

    /// How long an unused server keeps its place.
    pub(crate) fn idle(&self) -> Duration {
        lock(&self.0).idle
    }

    /// The number of processes and connections that run, start or stop at present.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.0).holders.len()
    }

    /// Takes a place for a server that is about to start. Waits only for a server that is being
    /// stopped.
    pub(crate) async fn acquire(
        &self,
        holder: Weak<dyn PlaceHolder>,
    ) -> Result<Place, ProcessLimitReached> {
        // Dropped after the lock is released, because the end of a server may end its place.
        let mut asked = Vec::new();
        let (granted, limit) = {
            let mut places = lock(&self.0);
            // The task of a server that waited may have ended.
            places.waiting.retain(|waiting| !waiting.granted.is_closed());
            if places.has_room() && places.waiting.is_empty() {
                return Ok(places.grant(&self.0, holder));
            }
            let limit = places.limit;
            let all_awaited = places.ending.len() <= places.waiting.len();
            if all_awaited && !places.stop_least_recently_used(&mut asked) {
                return Err(ProcessLimitReached { limit });
            }
            let (sender, granted) = oneshot::channel();
            places.waiting.push_back(Waiting { holder, granted: sender });
            (granted, limit)
        };
        drop(asked);
        match timeout(STOP_WAIT, granted).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(ProcessLimitReached { limit }),
        }
    }
}

impl fmt::Debug for UserProcesses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = lock(&self.0);
        write!(formatter, "UserProcesses({} of {})", places.holders.len(), places.limit)
    }
}

impl Places {
    fn has_room(&self) -> bool {
        self.holders.len() < self.limit
    }

    fn grant(&mut self, places: &Arc<Mutex<Self>>, holder: Weak<dyn PlaceHolder>) -> Place {
        let id = self.next_id;
        self.next_id += 1;
        self.holders.insert(id, holder);
        Place { id, places: Some(Arc::clone(places)) }
    }

    /// Gives free places to the starts that wait, in the order in which they began to wait.
    fn serve_waiting(&mut self, places: &Arc<Mutex<Self>>) {
        while self.has_room() {
            let Some(Waiting { holder, granted }) = self.waiting.pop_front() else { return };
            let place = self.grant(places, holder);
            if let Err(mut refused) = granted.send(place) {
                // It must not be given back by its drop, which would wait for the lock held here.
                refused.places = None;
                self.holders.remove(&refused.id);
            }
        }
    }

    /// Begins to stop the server that was not used for the longest time; returns whether there is one.
    /// The servers that were asked are added to `asked`.
    fn stop_least_recently_used(&mut self, asked: &mut Vec<Arc<dyn PlaceHolder>>) -> bool {
        let holders = self.holders.iter().filter(|(id, _)| !self.ending.contains(id));
        let mut unused = Vec::new();
        for (id, holder) in holders.filter_map(|(id, holder)| Some((*id, holder.upgrade()?))) {
            if let Some(since) = holder.unused_since() {
                unused.push((since, id, asked.len()));
            }
            asked.push(holder);
        }
        unused.sort_unstable();
        let stops = |(_, _, at): &&(_, _, usize)| {
            asked.get(*at).is_some_and(|holder| holder.stop_if_unused())
        };
        unused.iter().find(stops).is_some_and(|(_, id, _)| self.ending.insert(*id))
    }
}

impl Place {
    /// Reports whether the server has ended or is being stopped, so that the place will be free soon.
    pub fn set_ending(&self, is_ending: bool) {
        let Some(places) = &self.places else { return };
        let ending = &mut lock(places).ending;
        match is_ending {
            true => ending.insert(self.id),
            false => ending.remove(&self.id),
        };
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(shared) = self.places.take() else { return };
        let mut places = lock(&shared);
        places.holders.remove(&self.id);
        places.ending.remove(&self.id);
        places.serve_waiting(&shared);
    }
}

fn lock(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::task::yield_now;

    use super::*;

    /// A server that is not in use since `unused`.
    struct Holder {
        unused: Option<Instant>,
        stopping: AtomicBool,
    }

    impl Holder {
        fn new(unused: Option<Instant>) -> Arc<Self> {
            Arc::new(Self { unused, stopping: AtomicBool::new(false) })
        }

        fn is_stopping(&self) -> bool {
            self.stopping.load(Ordering::Relaxed)
        }
    }

    impl PlaceHolder for Holder {
        fn unused_since(&self) -> Option<Instant> {
            self.unused.filter(|_| !self.is_stopping())
        }

        fn stop_if_unused(&self) -> bool {
            self.stopping.store(true, Ordering::Relaxed);
            true
        }
    }

    fn processes(limit: usize) -> UserProcesses {
        UserProcesses::new(limit, Duration::from_secs(1))
    }

    async fn acquire(
        places: &UserProcesses,
        holder: &Arc<Holder>,
    ) -> Result<Place, ProcessLimitReached> {
        let holder: Arc<dyn PlaceHolder> = holder.clone();
        places.acquire(Arc::downgrade(&holder)).await
    }

    #[tokio::test]
    async fn the_least_recently_used_one_is_stopped_first() {
        let (places, now) = (processes(3), Instant::now());
        let busy = Holder::new(None);
        let older = Holder::new(Some(now));
        let newer = Holder::new(Some(now + Duration::from_secs(1)));
        let mut held = Vec::new();
        for holder in [&newer, &older, &busy] {
            held.push(acquire(&places, holder).await.ok());
        }
        let next = Holder::new(None);
        let mut waits = Box::pin(acquire(&places, &next));
        assert!(timeout(Duration::ZERO, &mut waits).await.is_err());
        assert!(older.is_stopping() && !newer.is_stopping());
        held[1].take();
        let fourth = waits.await.ok();
        assert!(fourth.is_some());
        assert_eq!(places.count(), 3);
        drop((held, fourth));
        assert_eq!(places.count(), 0);
    }

    #[tokio::test]
    async fn if_all_are_in_use_it_fails_at_once() {
        let places = processes(1);
        let busy = Holder::new(None);
        let held = acquire(&places, &busy).await.ok();
        let error = acquire(&places, &busy).await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "the limit of 1 for processes and connections with credentials of users is reached, and \
             all are in use; try again later, or raise 'users.max_user_processes'"
        );
        drop(held);
        assert!(acquire(&places, &busy).await.is_ok());
        assert_eq!(places.count(), 0);
    }

    #[tokio::test]
    async fn one_stop_serves_one_start() {
        let places = processes(1);
        let busy = Holder::new(None);
        let held = acquire(&places, &busy).await.ok();
        held.as_ref().unwrap().set_ending(true);
        let (first, second) = (Holder::new(None), Holder::new(None));
        let mut waits = Box::pin(acquire(&places, &first));
        assert!(timeout(Duration::ZERO, &mut waits).await.is_err());
        assert!(acquire(&places, &second).await.is_err());
        drop(held);
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn a_start_that_is_given_up_loses_no_place() {
        let places = processes(1);
        let busy = Holder::new(None);
        for is_granted_before in [false, true] {
            let held = acquire(&places, &busy).await.ok();
            held.as_ref().unwrap().set_ending(true);
            let mut waits = Box::pin(acquire(&places, &busy));
            assert!(timeout(Duration::ZERO, &mut waits).await.is_err());
            if is_granted_before {
                drop(held);
                yield_now().await;
                assert_eq!(places.count(), 1);
                drop(waits);
            } else {
                drop(waits);
                drop(held);
            }
            assert_eq!(places.count(), 0);
        }
    }

    #[tokio::test]
    async fn another_limit_holds_from_then_on() {
        let places = processes(1);
        let busy = Holder::new(None);
        let first = acquire(&places, &busy).await.ok();
        first.as_ref().unwrap().set_ending(true);
        let mut waits = Box::pin(acquire(&places, &busy));
        assert!(timeout(Duration::ZERO, &mut waits).await.is_err());
        places.reconfigure(2, Duration::ZERO);
        let second = waits.await.ok();
        assert_eq!(places.count(), 2);
        places.reconfigure(1, Duration::ZERO);
        drop(first);
        assert!(acquire(&places, &busy).await.is_err());
        drop(second);
        assert!(acquire(&places, &busy).await.is_ok());
    }
}
