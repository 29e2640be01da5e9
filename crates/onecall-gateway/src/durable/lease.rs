//! The leases of the runs that this process executes. A process that stops renewing its leases
//! loses its runs; one whose lease was lost stops the run without any further effect.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use onecall_core::storage::StoreError;
use onecall_core::{RunId, Timestamp};
use tokio::time::timeout;

use super::live::{LiveRun, StopReason};
use super::{DurableRuns, lock};

/// How long a lease lasts without being renewed, unless the configuration says otherwise.
pub(super) const DEFAULT_LEASE: Duration = Duration::from_secs(15);

/// How often a lease is renewed while it lasts.
const RENEWALS_PER_LEASE: u32 = 3;

/// A name for this process that no other process has, now or later.
pub(super) fn new_owner() -> String {
    // Without random numbers no run is started, so the name is never used.
    let random = random_bytes().unwrap_or_default();
    let digits: String = random.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digits}", std::process::id())
}

/// Random bytes of the operating system.
pub(super) fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl DurableRuns {
    /// Renews the leases of all runs in this process, until the gateway ends. While there are none, the
    /// store is released. If others continue the runs of gateways that end, a run whose lease could not be
    /// renewed in time is stopped: two answers of one run could differ.
    pub(super) async fn renew_leases(runs: Weak<Self>) {
        let Some(lease) = runs.upgrade().map(|runs| runs.lease) else { return };
        loop {
            tokio::time::sleep(lease / RENEWALS_PER_LEASE).await;
            let Some(runs) = runs.upgrade() else { return };
            let pause = lease / RENEWALS_PER_LEASE;
            let sent = Instant::now();
            let (live, unstored): (Vec<_>, Vec<_>) =
                runs.all_live().into_iter().partition(|run| run.journal.is_stored());
            unstored.iter().for_each(store_again);
            let unconfirmed = unstored.iter().filter(|run| run.journal.may_be_stored());
            runs.stop_if_over(unconfirmed, sent);
            let leases = leases_of(&live);
            if leases.is_empty() {
                runs.release_idle_store().await;
                continue;
            }
            let renewal =
                runs.with_store(move |store| store.renew_leases(&leases, Timestamp::now(), lease));
            match timeout(pause, renewal).await {
                Ok(Ok(lost)) => {
                    stop_lost(&live, &lost);
                    if runs.continues_interrupted {
                        live.iter().for_each(|run| run.set_lease_end(sent + lease));
                    }
                }
                Ok(Err(error)) => tracing::warn!("leases of runs cannot be renewed: {error}"),
                Err(_) => {
                    tracing::warn!("leases of runs cannot be renewed: the store does not respond");
                }
            }
            runs.stop_if_over(live.iter(), sent);
        }
    }

    /// Stops runs whose lease is over, if others continue them. The leases were renewed at `sent`, if that was
    /// possible.
    fn stop_if_over<'a>(&self, live: impl Iterator<Item = &'a Arc<LiveRun>>, sent: Instant) {
        if !self.continues_interrupted {
            return;
        }
        let pause = self.lease / RENEWALS_PER_LEASE;
        for run in live {
            // A run that was never renewed has begun after the last renewal, two pauses ago at most.
            run.assume_lease_end(sent + self.lease - 2 * pause);
            if run.is_lease_over() {
                tracing::warn!("run {}: its lease is over, so another gateway may have it", run.id);
                run.stop(StopReason::LeaseLost);
            }
        }
    }

    /// Stops the runs of this process that others have cancelled or taken over.
    pub(super) async fn stop_lost_runs(&self) -> Result<(), StoreError> {
        let mut live = self.all_live();
        live.retain(|run| run.journal.is_stored());
        let leases = leases_of(&live);
        if !leases.is_empty() {
            let lost = self.with_store(move |store| store.lost_leases(&leases)).await?;
            stop_lost(&live, &lost);
        }
        Ok(())
    }

    /// Whether this process executes runs.
    pub(super) fn has_live_runs(&self) -> bool {
        !lock(&self.live).is_empty()
    }
}

fn leases_of(live: &[Arc<LiveRun>]) -> Vec<(RunId, u64)> {
    live.iter().map(|run| (run.id.clone(), run.fence)).collect()
}

fn stop_lost(live: &[Arc<LiveRun>], lost: &[RunId]) {
    for run in live.iter().filter(|run| lost.contains(&run.id)) {
        tracing::info!("run {}: another process has taken it over or ended it", run.id);
        run.stop(StopReason::LeaseLost);
    }
}

/// Stores a run that the store does not have yet. Its first lease is renewed by that.
fn store_again(run: &Arc<LiveRun>) {
    let run = Arc::clone(run);
    // If it fails, it is done again before the lease ends.
    tokio::spawn(async move { _ = run.journal.stored().await });
}
