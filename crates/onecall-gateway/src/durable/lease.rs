//! The leases of the runs that this process executes. A process that stops renewing its leases
//! loses its runs; one whose lease was lost stops the run without any further effect.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Weak;
use std::time::{Duration, Instant};

use onecall_core::{RunId, Timestamp};
use tokio::time::timeout;

use super::DurableRuns;
use super::live::StopReason;

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
            let mut live = runs.all_live();
            live.retain(|run| run.journal.is_stored());
            let leases: Vec<(RunId, u64)> =
                live.iter().map(|run| (run.id.clone(), run.fence)).collect();
            if leases.is_empty() {
                runs.release_idle_store().await;
                continue;
            }
            let pause = lease / RENEWALS_PER_LEASE;
            let sent = Instant::now();
            let renewal =
                runs.with_store(move |store| store.renew_leases(&leases, Timestamp::now(), lease));
            match timeout(pause, renewal).await {
                Ok(Ok(lost)) => {
                    live.iter().filter(|run| lost.contains(&run.id)).for_each(|run| {
                        tracing::info!(
                            "run {}: another process has taken it over or ended it",
                            run.id
                        );
                        run.stop(StopReason::LeaseLost);
                    });
                    if runs.continues_interrupted {
                        live.iter().for_each(|run| run.set_lease_end(sent + lease));
                    }
                }
                Ok(Err(error)) => tracing::warn!("leases of runs cannot be renewed: {error}"),
                Err(_) => {
                    tracing::warn!("leases of runs cannot be renewed: the store does not respond");
                }
            }
            if runs.continues_interrupted {
                // A run that was never renewed has begun after the last renewal, two pauses ago at most.
                live.iter().for_each(|run| run.assume_lease_end(sent + lease - 2 * pause));
                for run in live.iter().filter(|run| run.is_lease_over()) {
                    tracing::warn!(
                        "run {}: its lease is over, so another gateway may have it",
                        run.id
                    );
                    run.stop(StopReason::LeaseLost);
                }
            }
        }
    }
}
