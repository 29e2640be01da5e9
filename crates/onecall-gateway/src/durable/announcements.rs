//! Announces questions to the webhook, each at least once. The gateway that asks does it at once. The store knows
//! which questions have not been announced yet: if that gateway ends first, or the webhook does not answer, any
//! gateway with the same configuration announces them later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onecall_core::storage::StoredQuestion;
use onecall_core::{ApprovalQuestion, ItemId, RunId, Timestamp};

use super::DurableRuns;
use super::live::LiveRun;
use super::webhook::Delivery;

/// How long a question waits for others of the same run before it is announced, so that parallel
/// calls are announced together.
const GATHER_TIME: Duration = Duration::from_millis(100);

/// The longest pause between two attempts to announce a question.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

impl DurableRuns {
    /// When other gateways may announce a question that is asked at this time; `None` without a webhook.
    pub(super) fn announcement_of(&self, asked: Timestamp) -> Option<Timestamp> {
        self.webhook.is_some().then(|| asked.after(self.announcing_time()))
    }

    /// For how long a gateway that announces a question is left alone.
    fn announcing_time(&self) -> Duration {
        self.lease * 2
    }

    /// Announces the questions of a run in this process, together with those that follow at once.
    pub(super) fn announce_soon(self: &Arc<Self>, live: &Arc<LiveRun>) {
        if self.webhook.is_none() {
            return;
        }
        let (runs, live) = (Arc::clone(self), Arc::clone(live));
        tokio::spawn(async move {
            tokio::time::sleep(GATHER_TIME).await;
            let items = live.take_unannounced();
            let delivery = runs.webhook.as_ref().and_then(|hook| hook.begin(&live.id, items));
            if let Some(delivery) = delivery {
                runs.deliver(&live.id, &delivery).await;
            }
        });
    }

    /// Announces questions that no gateway has announced in time.
    pub(super) async fn announce_due(self: &Arc<Self>, due: Vec<StoredQuestion>, now: Timestamp) {
        let Some(webhook) = &self.webhook else { return };
        let mut by_run: BTreeMap<RunId, Vec<(ApprovalQuestion, Timestamp)>> = BTreeMap::new();
        for StoredQuestion { question, announce, .. } in due {
            if let Some(at) = announce {
                by_run.entry(question.run.clone()).or_default().push((question, at));
            }
        }
        for (run, questions) in by_run {
            let first = questions.iter().map(|(question, _)| question.asked).min().unwrap_or(now);
            let items: Vec<_> = questions.iter().map(|(it, at)| (it.item.clone(), *at)).collect();
            let asked = questions.into_iter().map(|(question, _)| question).collect();
            let Some(mut delivery) = webhook.begin(&run, asked) else { continue };
            let pause = pause_after(first, now, self.announcing_time());
            let until = now.after(self.announcing_time());
            let of_run = run.clone();
            let claim = self
                .with_store(move |store| store.claim_announcement(&of_run, &items, until))
                .await;
            match claim {
                Ok(claimed) => delivery.retain(&claimed),
                Err(error) => {
                    tracing::warn!("questions of run {run} cannot be announced: {error}");
                    continue;
                }
            }
            if !delivery.is_empty() {
                let runs = Arc::clone(self);
                tokio::spawn(async move {
                    if !runs.deliver(&run, &delivery).await {
                        runs.put_off(&run, &delivery, until, pause).await;
                    }
                });
            }
        }
    }

    /// Delivers an announcement, and notes that in the store. If the result is `false`, it is repeated later.
    async fn deliver(&self, run: &RunId, delivery: &Delivery) -> bool {
        let Some(webhook) = &self.webhook else { return false };
        if let Err(problem) = webhook.deliver(delivery).await {
            tracing::warn!(
                "approvals.webhook: run {run} could not be announced, which is tried again later: {problem}"
            );
            return false;
        }
        let (of_run, items): (RunId, Vec<ItemId>) = (run.clone(), delivery.items());
        let noted = self.with_store(move |store| store.end_announcement(&of_run, &items)).await;
        if let Err(error) = noted {
            tracing::warn!("run {run} was announced, and may be again, because {error}");
        }
        true
    }

    /// Puts an announcement off that was not delivered, for every gateway. This one had taken it over `until` then;
    /// if it had ended instead, another one would announce the questions at that time.
    async fn put_off(&self, run: &RunId, delivery: &Delivery, until: Timestamp, pause: Duration) {
        let items: Vec<_> = delivery.items().into_iter().map(|item| (item, until)).collect();
        let (of_run, later) = (run.clone(), Timestamp::now().after(pause));
        let put_off =
            self.with_store(move |store| store.claim_announcement(&of_run, &items, later)).await;
        if let Err(error) = put_off {
            tracing::warn!("the questions of run {run} are announced again soon, because {error}");
        }
    }
}

/// Whether a question that is announced at `announce` is due. A time that is too far away comes from a clock that
/// was wrong.
pub(super) fn is_due(announce: Timestamp, now: Timestamp) -> bool {
    announce <= now || announce > now.after(LONGEST_PAUSE * 2)
}

/// How long after `now` a question is announced again that has been open since `asked`: the longer it is open, the
/// longer is the pause.
fn pause_after(asked: Timestamp, now: Timestamp, shortest: Duration) -> Duration {
    let age = u64::try_from(now.0.saturating_sub(asked.0)).unwrap_or(0);
    Duration::from_millis(age).max(shortest).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_become_longer() {
        let shortest = Duration::from_secs(30);
        let cases = [(-5, 30), (0, 30), (30, 30), (60, 60), (240, 240), (1_000_000, 3_600)];
        for (age, expected) in cases {
            let pause = pause_after(Timestamp(0), Timestamp(age * 1_000), shortest);
            assert_eq!(pause, Duration::from_secs(expected), "{age}");
        }
    }

    #[test]
    fn an_announcement_is_due_when_its_time_has_come() {
        let hour = 3_600_000;
        for (announce, expected) in [(0, true), (1, false), (hour, false), (3 * hour, true)] {
            assert_eq!(is_due(Timestamp(announce), Timestamp(0)), expected, "{announce}");
        }
    }
}
