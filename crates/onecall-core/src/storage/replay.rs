//! What the record of a run has for a replay of the run.

use serde::{Deserialize, Serialize};

use crate::{InPlaceReason, JournalEvent};

/// What a record has for a replay of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplayData {
    /// The record has no journal: it is not a full record, its run was not a program, or it was made
    /// by a version of onecall that recorded no journals.
    #[default]
    None,
    /// The journal of the run.
    Journal(RecordedJournal),
    /// The run cannot be replayed, for this reason.
    Impossible(ReplayObstacle),
}

impl ReplayData {
    /// The approximate size of the journal in memory; 0 if there is none.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Journal(journal) => journal.events.iter().map(JournalEvent::memory_bytes).sum(),
            Self::None | Self::Impossible(_) => 0,
        }
    }
}

/// The journal of a run that has ended, with the secrets of the configuration removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedJournal {
    /// Makes the random numbers of the program.
    pub seed: [u8; 32],
    /// The events of the run, in their order.
    pub events: Vec<JournalEvent>,
}

/// Why a run cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayObstacle {
    /// The run did something that cannot be repeated, or has no journal.
    InPlace(InPlaceReason),
    /// A secret of the configuration cannot be removed from the journal without damaging it.
    Secret,
    /// The program is too long to be recorded as a whole.
    ProgramLength,
    /// The program did not begin: it was refused, or no engine could run it.
    NotBegun,
    /// The recorded journal cannot be read.
    Damaged,
}

impl ReplayObstacle {
    /// The reason as a part of a sentence: "the run cannot be replayed, because …".
    #[must_use]
    pub fn explanation(self) -> &'static str {
        match self {
            Self::InPlace(reason) => reason.explanation(),
            Self::Secret => {
                "a secret of the configuration could not be removed from its journal, so the journal \
                 was not recorded"
            }
            Self::ProgramLength => "its program is too long to be recorded as a whole",
            Self::NotBegun => "its program did not begin",
            Self::Damaged => "its recorded journal is damaged",
        }
    }
}

impl From<InPlaceReason> for ReplayObstacle {
    fn from(reason: InPlaceReason) -> Self {
        Self::InPlace(reason)
    }
}
