//! Tells open pages that something has changed, by server-sent events. The script of a page then reads the
//! page again and replaces what differs.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::{Bytes, Frame};
use onecall_bridge::ServerStatus;
use onecall_core::RunId;
use onecall_core::storage::{CompleteStore, RunFilter};
use onecall_gateway::Gateway;
use tokio::sync::watch;

use super::reply::add_headers;
use super::run_list::PAGE_LENGTH;
use super::{BrowserState, Page};
use crate::http::PlainBody;

/// The time between two looks for changes while a page is open.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

/// How often a stream without events sends a comment, so that proxies keep it open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Watches the store, and what the gateway runs, while pages are open.
pub(super) struct ChangeWatch {
    store: Arc<dyn CompleteStore>,
    gateway: Arc<Gateway>,
    /// The number of changes, as long as any stream is open.
    changes: Mutex<Weak<watch::Sender<u64>>>,
}

/// What is compared to find out whether something has changed that pages show.
#[derive(Debug, PartialEq, Default)]
struct ChangeMark {
    changes: Option<i64>,
    /// The newest runs that are recorded: a record of one that began long ago may be new.
    newest_runs: Vec<RunId>,
    /// The runs that the gateway executes now.
    running: Vec<RunId>,
    /// The servers that all users share, with their states.
    servers: Vec<ServerStatus>,
}

impl ChangeWatch {
    pub(super) fn new(store: Arc<dyn CompleteStore>, gateway: Arc<Gateway>) -> Self {
        Self { store, gateway, changes: Mutex::default() }
    }

    /// Begins to watch, or joins those who do. This goes on until the result is dropped.
    fn subscribe(&self) -> Arc<watch::Sender<u64>> {
        let mut known = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changes) = known.upgrade() {
            return changes;
        }
        let changes = Arc::new(watch::Sender::new(0));
        *known = Arc::downgrade(&changes);
        let (store, gateway) = (Arc::clone(&self.store), Arc::clone(&self.gateway));
        tokio::spawn(look(store, gateway, Arc::downgrade(&changes)));
        changes
    }
}

/// Looks for changes until no page is open any more.
async fn look(
    store: Arc<dyn CompleteStore>,
    gateway: Arc<Gateway>,
    changes: Weak<watch::Sender<u64>>,
) {
    let mut last = None;
    loop {
        let (store, gateway) = (Arc::clone(&store), Arc::clone(&gateway));
        let mark = tokio::task::spawn_blocking(move || mark(store.as_ref(), &gateway)).await.ok();
        let Some(changes) = changes.upgrade() else { return };
        if last.is_some() && mark != last {
            changes.send_modify(|number| *number += 1);
        }
        last = mark;
        drop(changes);
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

fn mark(store: &dyn CompleteStore, gateway: &Gateway) -> ChangeMark {
    let running = gateway.running_runs(|run| run.id.clone());
    let newest = store.runs(&RunFilter { limit: Some(PAGE_LENGTH), ..RunFilter::default() });
    let newest_runs = newest.unwrap_or_default().into_iter().map(|run| run.id).collect();
    let servers = gateway.status();
    ChangeMark { changes: store.change_number().ok(), newest_runs, running, servers }
}

/// A stream of events for one open page.
struct OpenStream {
    page: Arc<Page>,
    /// The secret of the session that the page is open in.
    secret: String,
    /// Keeps the watch going.
    _watch: Arc<watch::Sender<u64>>,
    changes: watch::Receiver<u64>,
    stopped: watch::Receiver<bool>,
    is_new: bool,
}

impl OpenStream {
    /// The next piece of the stream; `None` ends it.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_new {
            // The browser learns that it is connected, and how soon to come back after a failure.
            self.is_new = false;
            return Some(Bytes::from_static(b"retry: 2000\n: connected\n\n"));
        }
        tokio::select! {
            changed = self.changes.changed() => {
                changed.ok()?;
                let number = *self.changes.borrow_and_update();
                Some(Bytes::from(format!("event: change\ndata: {number}\n\n")))
            }
            () = async { _ = self.stopped.wait_for(|stopped| *stopped).await; } => None,
            () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => {
                // When the session cannot be used any more, the stream ends here at the latest.
                match self.page.state_of(&self.secret).await {
                    BrowserState::SignedIn(_) | BrowserState::Unavailable(_) => {
                        Some(Bytes::from_static(b": open\n\n"))
                    }
                    BrowserState::SignedOut | BrowserState::Unconfirmed => None,
                }
            }
        }
    }
}

impl Page {
    /// The response that stays open and sends an event after each change.
    pub(super) fn events(
        self: &Arc<Self>,
        secret: String,
        stopped: watch::Receiver<bool>,
    ) -> Response<PlainBody> {
        let watch = self.changes.subscribe();
        let changes = watch.subscribe();
        let page = Arc::clone(self);
        let open = OpenStream { page, secret, _watch: watch, changes, stopped, is_new: true };
        let pieces = stream::unfold(open, async |mut open| {
            let piece = open.next().await?;
            Some((piece, open))
        });
        let body = StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece))));
        let mut response = Response::new(BodyExt::boxed(SyncStream(Mutex::new(Box::pin(body)))));
        add_headers(&mut response, "text/event-stream");
        response
    }
}

/// A body that only one thread uses at a time, behind a lock so that the compiler knows.
struct SyncStream<B>(Mutex<std::pin::Pin<Box<B>>>);

impl<B: hyper::body::Body> hyper::body::Body for SyncStream<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let body = self.get_mut().0.get_mut().unwrap_or_else(PoisonError::into_inner);
        body.as_mut().poll_frame(context)
    }
}
