//! Notices changes that other processes make. Each transaction that others wait for sends a
//! notification; a connection of its own listens for them. While that connection is down, everything
//! counts as changed, so that callers read again.

use std::pin::pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;

use super::address::CONNECT_TIMEOUT;
use super::connections::Connections;
use super::error::QueryError;
use super::transaction::CHANNEL;

/// How often the connection is tried, and how long its answer may take before changes are looked for without
/// notifications. A connection on which nothing arrives any more is noticed within a second by that.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// How long an answer may take before another connection is made.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// The pause before another attempt to connect. It doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Cached answers.
    Answers,
    /// Questions, approvals, and durable runs.
    Runs,
    /// Users, tokens and secrets of users.
    Users,
    /// The pins of servers.
    Pins,
}

impl Topic {
    const ALL: [Self; 4] = [Self::Answers, Self::Runs, Self::Users, Self::Pins];

    fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Runs => "runs",
            Self::Users => "users",
            Self::Pins => "pins",
        }
    }
}

/// Counts the changes of each topic.
pub(super) struct Changes {
    connections: Arc<Connections>,
    shared: Arc<Shared>,
}

/// What the store and the task that listens share.
struct Shared {
    /// A number that is unique among the stores of this process.
    store: u64,
    /// Identifies the store among those of all processes, in notifications.
    sender: String,
    listener: Mutex<Listener>,
    listener_changed: Condvar,
    /// The numbers of changes, by topic.
    counts: [AtomicI64; Topic::ALL.len()],
}

/// The state of the connection that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listener {
    /// No version was asked for yet.
    NotStarted,
    /// The first attempt to connect has not ended.
    Starting,
    Connected,
    Disconnected,
}

impl Changes {
    pub(super) fn new(connections: Arc<Connections>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let store = COUNT.fetch_add(1, Ordering::Relaxed);
        // Process ids of different machines may be equal.
        let random = crate::encoding::random_key().unwrap_or_default();
        let [a, b, c, d, e, f, g, h, ..] = random;
        let random = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let shared = Arc::new(Shared {
            store,
            sender: format!("{random:016x}{}x{store}", std::process::id()),
            listener: Mutex::new(Listener::NotStarted),
            listener_changed: Condvar::new(),
            counts: Default::default(),
        });
        Self { connections, shared }
    }

    /// The number of the store that the counts belong to.
    pub(super) fn store_number(&self) -> u64 {
        self.shared.store
    }

    /// What is sent to other processes about a change.
    pub(super) fn notification(&self, topic: Topic) -> String {
        format!("{} {}", topic.name(), self.shared.sender)
    }

    /// Notes a change that this store has made.
    pub(super) fn note(&self, topic: Topic) {
        self.shared.add_change(topic);
    }

    /// The number of changes of a topic. The first call starts to listen, and waits until that works
    /// or has failed.
    pub(super) fn count(&self, topic: Topic) -> i64 {
        self.start();
        let listener = self.shared.listener();
        let listener = self.shared.listener_changed.wait_timeout_while(
            listener,
            CONNECT_TIMEOUT,
            |listener| *listener == Listener::Starting,
        );
        let is_connected = match listener {
            Ok((listener, _)) => *listener == Listener::Connected,
            Err(_) => false,
        };
        if !is_connected {
            self.shared.add_change(topic);
        }
        self.shared.load(topic)
    }

    /// Whether the count of a topic is still `count`. This never waits.
    pub(super) fn is_count(&self, topic: Topic, count: i64) -> bool {
        let Ok(listener) = self.shared.listener.try_lock() else { return false };
        *listener == Listener::Connected && self.shared.load(topic) == count
    }

    fn start(&self) {
        let mut listener = self.shared.listener();
        let Some(runtime) = self.connections.runtime() else { return };
        if *listener == Listener::NotStarted {
            *listener = Listener::Starting;
            let (connections, shared) =
                (Arc::downgrade(&self.connections), Arc::downgrade(&self.shared));
            runtime.spawn(listen_until_dropped(connections, shared));
        }
    }
}

impl Shared {
    fn load(&self, topic: Topic) -> i64 {
        self.counts.get(topic as usize).map_or(0, |count| count.load(Ordering::Acquire))
    }

    fn add_change(&self, topic: Topic) {
        if let Some(count) = self.counts.get(topic as usize) {
            count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Counts the change that a notification is about, unless this store has made it.
    fn receive(&self, payload: &str) {
        let Some((name, sender)) = payload.split_once(' ') else { return };
        if sender != self.sender {
            let topic = Topic::ALL.into_iter().find(|topic| topic.name() == name);
            topic.into_iter().for_each(|topic| self.add_change(topic));
        }
    }

    fn set_listener(&self, state: Listener) {
        let mut listener = self.listener();
        if *listener != state {
            *listener = state;
            // Notifications may have been missed.
            Topic::ALL.into_iter().for_each(|topic| self.add_change(topic));
        }
        self.listener_changed.notify_all();
    }

    fn listener(&self) -> MutexGuard<'_, Listener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens, and connects again when the connection ends, until the store is dropped.
async fn listen_until_dropped(connections: Weak<Connections>, shared: Weak<Shared>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(store) = shared.upgrade() else { return };
        let connected = listen(&connections, &store).await;
        let was_connected = *store.listener() == Listener::Connected;
        store.set_listener(Listener::Disconnected);
        drop(store);
        if let Err(error) = connected {
            tracing::debug!("changes of the store are not noticed at once: {error}");
        }
        pause = if was_connected { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        sleep(pause).await;
    }
}

/// Listens until the connection ends.
async fn listen(connections: &Weak<Connections>, shared: &Arc<Shared>) -> Result<(), QueryError> {
    let Some(connector) = connections.upgrade().map(|it| it.connector().clone()) else {
        return Ok(());
    };
    let (client, mut connection) = connector.connect(|_| {}).await?;
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let receiver = Arc::clone(shared);
    let receive = async move {
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message? {
                receiver.receive(notification.payload());
            }
        }
        Ok::<(), QueryError>(())
    };
    let probe = async {
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        shared.set_listener(Listener::Connected);
        loop {
            sleep(PROBE_INTERVAL).await;
            let mut answer = pin!(client.batch_execute(""));
            if let Ok(answer) = timeout(PROBE_INTERVAL, answer.as_mut()).await {
                answer?;
                continue;
            }
            shared.set_listener(Listener::Disconnected);
            timeout(LONGEST_SILENCE, answer).await.map_err(|_| QueryError::NoAnswer)??;
            // Notifications that were sent before this answer have arrived before it.
            shared.set_listener(Listener::Connected);
        }
    };
    tokio::select! {
        ended = receive => ended,
        ended = probe => ended,
    }
}
