//! Adds runs that an older version of onecall has stored to the sums that the overview shows.

use std::sync::Weak;
use std::time::Duration;

use super::Page;

/// The pause after each step, in which other processes can write to the store.
const STEP_PAUSE: Duration = Duration::from_millis(20);

/// The pause before looking for more such runs: while gateways are replaced one by one by a newer version, the
/// older ones go on to store runs.
const SEARCH_PAUSE: Duration = Duration::from_secs(5 * 60);

/// Adds the runs in small steps, as long as the page exists. Several processes may do this on one store.
pub(super) async fn add_to_figures(page: Weak<Page>) {
    let mut was_reported = false;
    while let Some(page) = page.upgrade() {
        let added = page.with_store(|store| store.add_older_runs_to_figures()).await;
        drop(page);
        if let Err(error) = &added
            && !was_reported
            && !error.was_reported()
        {
            tracing::warn!("the overview of the page may miss earlier runs: {error}");
        }
        was_reported = added.is_err();
        let has_more = added.unwrap_or(false);
        tokio::time::sleep(if has_more { STEP_PAUSE } else { SEARCH_PAUSE }).await;
    }
}
