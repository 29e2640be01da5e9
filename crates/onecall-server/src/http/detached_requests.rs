//! Requests without an MCP session that another gateway has forwarded. Each is answered in a task of its own,
//! because a lost connection to the other gateway says nothing about the client: the gateway may have ended, and
//! what the request has begun goes on, as it does with a session. If the client has left, the other gateway
//! says so, and the task is ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Bytes;
use onecall_core::UserName;
use tokio::sync::{Notify, mpsc, oneshot};

use super::active_users::ActiveUser;
use super::response::{PartsBody, PlainBody};
use super::router::Reply;

/// The requests that are being answered, by the names that other gateways have given them.
#[derive(Clone, Default)]
pub(super) struct DetachedRequests(Arc<Mutex<HashMap<String, DetachedRequest>>>);

struct DetachedRequest {
    user: Option<UserName>,
    client_left: Arc<Notify>,
}

impl DetachedRequests {
    /// Starts to answer a request of this name and user, and returns the response as soon as it begins; `None`
    /// if the request was ended before.
    pub(super) async fn answer(
        &self,
        name: String,
        user: Option<ActiveUser>,
        work: impl Future<Output = Reply> + Send + 'static,
    ) -> Option<Response<PlainBody>> {
        let client_left = Arc::new(Notify::new());
        let request = DetachedRequest {
            user: user.as_ref().map(|user| user.name().clone()),
            client_left: Arc::clone(&client_left),
        };
        self.lock().insert(name.clone(), request);
        let (begin, begun) = oneshot::channel();
        let requests = self.clone();
        tokio::spawn(async move {
            let user_removed = async {
                match &user {
                    Some(user) => user.removed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pass_on(work, begin) => {}
                () = client_left.notified() => {}
                () = user_removed => {}
            }
            requests.lock().remove(&name);
        });
        begun.await.ok()
    }

    /// Ends a request of this user, whose client has left. Returns whether the request is known.
    pub(super) fn note_departure(&self, name: &str, user: Option<&UserName>) -> bool {
        let requests = self.lock();
        let found = requests.get(name).filter(|request| request.user.as_ref() == user);
        found.is_some_and(|request| {
            request.client_left.notify_one();
            true
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, DetachedRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a request and passes the answer on as it comes. When it is not read any more, the rest is made and
/// thrown away.
async fn pass_on(work: impl Future<Output = Reply>, begin: oneshot::Sender<Response<PlainBody>>) {
    // What the request takes up is kept until the answer has ended.
    let Reply { response, kept: _kept } = work.await;
    let (head, mut body) = response.into_parts();
    let (parts, receiver) = mpsc::channel::<Bytes>(1);
    // If the connection is lost already, sending the first part fails.
    _ = begin.send(Response::from_parts(head, PartsBody(receiver).boxed()));
    let mut reader = Some(parts);
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(part) = frame.into_data() else { continue };
        if let Some(parts) = &reader
            && parts.send(part).await.is_err()
        {
            reader = None;
        }
    }
}
