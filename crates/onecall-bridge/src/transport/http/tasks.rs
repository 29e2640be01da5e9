//! The tasks of one connection: the exchanges in progress. Each ends by itself, when its request is
//! abandoned, or with the connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinSet};

use crate::error::SendError;

/// The tasks of one connection. Cheap to clone; all clones share the same tasks.
#[derive(Clone)]
pub(crate) struct Tasks {
    /// The runtime of the tasks: a message may be sent or dropped by a thread outside of it.
    runtime: Handle,
    running: Arc<Mutex<Running>>,
}

struct Running {
    /// `None` once the connection has ended.
    all: Option<JoinSet<()>>,
    by_request: HashMap<u64, AbortHandle>,
}

impl Tasks {
    /// Creates an empty set of tasks. Must be called inside a tokio runtime.
    pub fn new() -> Self {
        let running = Running { all: Some(JoinSet::new()), by_request: HashMap::new() };
        Self { runtime: Handle::current(), running: Arc::new(Mutex::new(running)) }
    }

    /// Runs `task` until it ends or the connection closes.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), SendError> {
        let mut running = self.lock();
        let all = running.all.as_mut().ok_or(SendError::Closed)?;
        all.spawn_on(task, &self.runtime);
        // Removes the results of tasks that have ended, which would otherwise accumulate.
        while all.try_join_next().is_some() {}
        Ok(())
    }

    /// Runs `task` until it ends, the connection closes, or request `id` is abandoned.
    pub fn spawn_for(
        &self,
        id: u64,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), SendError> {
        let remove_on_drop = RemoveOnDrop { tasks: self.clone(), id };
        let mut running = self.lock();
        let all = running.all.as_mut().ok_or(SendError::Closed)?;
        let handle = all.spawn_on(
            async move {
                task.await;
                drop(remove_on_drop);
            },
            &self.runtime,
        );
        while all.try_join_next().is_some() {}
        running.by_request.insert(id, handle);
        Ok(())
    }

    /// Aborts the task of request `id`, and with it the HTTP exchange.
    pub fn abandon(&self, id: u64) {
        if let Some(handle) = self.lock().by_request.get(&id) {
            handle.abort();
        }
    }

    /// Aborts all tasks and rejects later ones.
    pub fn close(&self) -> JoinSet<()> {
        let all = self.lock().all.take();
        let mut all = all.unwrap_or_default();
        all.abort_all();
        all
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a request from the map when its task ends.
struct RemoveOnDrop {
    tasks: Tasks,
    id: u64,
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        self.tasks.lock().by_request.remove(&self.id);
    }
}
