//! Seals the request states that clients of protocol version 2026-07-28 send back with their
//! answers. A sealed state says only which question of which run it belongs to; its seal binds it
//! to the client and the request that it was given for, and to a date.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use onecall_core::{ApprovalQuestion, Digest, ItemId, QuestionKind, RunId, Timestamp, UserName};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use thiserror::Error;

/// Begins every sealed state, and separates this use of the key from others.
const VERSION: &str = "oc3";

/// The longest state that is examined, in bytes.
const MAX_LENGTH: usize = 64 * 1024;

/// Identifies a question that a client was asked: some waiting calls of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionId {
    /// The run.
    run: String,
    /// The calls that the question is about.
    pub calls: Vec<AskedCall>,
    /// How often the client has been asked in this exchange, counted from 1.
    pub round: u32,
    /// When the state expires, in milliseconds since 1970.
    expires: i64,
}

/// A waiting call that a client was asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The number of the call in its run.
    pub call: u64,
    /// The question.
    pub item: ItemId,
    /// What is asked.
    pub kind: QuestionKind,
}

impl From<&ApprovalQuestion> for AskedCall {
    fn from(question: &ApprovalQuestion) -> Self {
        Self { call: question.call, item: question.item.clone(), kind: question.kind }
    }
}

/// Whose answer is expected: the client, and the request that it repeats with the answer.
#[derive(Clone, Debug)]
pub struct StateOwner {
    /// The user that the request comes from.
    pub user: UserName,
    /// The client as it names itself.
    pub client: String,
    /// The digest of the request: the tool with its arguments.
    pub request: Digest,
}

/// Why a request state is not accepted. Nothing is decided by it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StateRefusal {
    /// The seal does not fit: the state was made or changed by somebody else, or it belongs to
    /// another client or another request.
    #[error(
        "the requestState is not valid for this request: send the original request again exactly \
         as it was, with the requestState of its last answer"
    )]
    Invalid,
    /// The state has expired.
    #[error(
        "the requestState has expired: call continue_program with run \"{run}\" for the state of \
         the run"
    )]
    Expired {
        /// The run that the state belongs to.
        run: RunId,
    },
}

impl QuestionId {
    /// A question about these calls of a run.
    #[must_use]
    pub fn new(run: &RunId, calls: Vec<AskedCall>, round: u32, expires: Timestamp) -> Self {
        Self { run: run.as_str().to_owned(), calls, round, expires: expires.0 }
    }

    /// The run that waits.
    #[must_use]
    pub fn run(&self) -> RunId {
        RunId::from_existing(&self.run)
    }
}

/// Seals a question for its owner.
#[must_use]
pub(crate) fn seal(key: &[u8; 32], question: &QuestionId, owner: &StateOwner) -> String {
    let body = serde_json::to_vec(question).unwrap_or_default();
    let tag = mac(key, &body, owner).finalize().into_bytes();
    format!("{VERSION}.{}.{}", URL_SAFE_NO_PAD.encode(&body), URL_SAFE_NO_PAD.encode(tag))
}

/// Whether a request state looks like one that a gateway has sealed, and not like one of a server whose
/// tool a client calls directly.
#[must_use]
pub fn is_sealed_state(state: &str) -> bool {
    state.split_once('.').is_some_and(|(version, _)| version == VERSION)
}

/// Opens a sealed question that its owner has sent back.
///
/// # Errors
/// If the state was not sealed for this owner, or has expired.
pub(crate) fn open(
    key: &[u8; 32],
    sealed: &str,
    owner: &StateOwner,
    now: Timestamp,
) -> Result<QuestionId, StateRefusal> {
    let parts = || {
        let (version, rest) = sealed.split_once('.')?;
        let (body, tag) = rest.split_once('.')?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        (version == VERSION).then_some((decode(body)?, decode(tag)?))
    };
    if sealed.len() > MAX_LENGTH {
        return Err(StateRefusal::Invalid);
    }
    let (body, tag) = parts().ok_or(StateRefusal::Invalid)?;
    mac(key, &body, owner).verify_slice(&tag).map_err(|_| StateRefusal::Invalid)?;
    let question: QuestionId = serde_json::from_slice(&body).map_err(|_| StateRefusal::Invalid)?;
    if question.expires <= now.0 {
        return Err(StateRefusal::Expired { run: question.run() });
    }
    Ok(question)
}

fn mac(key: &[u8; 32], body: &[u8], owner: &StateOwner) -> Hmac<Sha256> {
    // HMAC fills keys up to a block with zeros, too.
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(target, byte)| *target = *byte);
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    // Each part has its length before it, so that no other parts give the same input.
    let StateOwner { user, client, request } = owner;
    let request = request.into_bytes();
    for part in [VERSION.as_bytes(), body, user.as_str().as_bytes(), client.as_bytes(), &request] {
        mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        mac.update(part);
    }
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];
    const NOW: Timestamp = Timestamp(1_000);

    fn asked(run: &RunId) -> Vec<AskedCall> {
        let allowed = ItemId::of(run, 1);
        let happened = ItemId::of_attempt(run, 4, 2);
        vec![
            AskedCall { call: 1, item: allowed, kind: QuestionKind::Approve },
            AskedCall { call: 4, item: happened, kind: QuestionKind::Unknown },
        ]
    }

    fn owner(client: &str, request: &str) -> StateOwner {
        let user = UserName::local();
        StateOwner { user, client: client.to_owned(), request: Digest::of(request) }
    }

    #[test]
    fn only_the_owner_opens_a_state_and_only_in_time() {
        let run = RunId::from_existing("r");
        let question = QuestionId::new(&run, asked(&run), 2, Timestamp(2_000));
        let alice = owner("alice", "execute");
        let sealed = seal(&KEY, &question, &alice);
        assert_eq!(open(&KEY, &sealed, &alice, NOW), Ok(question));
        let refused = [
            open(&KEY, &sealed, &owner("bob", "execute"), NOW),
            open(&KEY, &sealed, &owner("alice", "other"), NOW),
            open(
                &KEY,
                &sealed,
                &StateOwner { user: UserName::from_existing("eve"), ..alice.clone() },
                NOW,
            ),
            open(&[8; 32], &sealed, &alice, NOW),
            open(&KEY, "", &alice, NOW),
            open(&KEY, "oc3.x.y", &alice, NOW),
            open(&KEY, &"oc3.".repeat(MAX_LENGTH), &alice, NOW),
        ];
        for refusal in refused {
            assert_eq!(refusal, Err(StateRefusal::Invalid));
        }
        let expired = open(&KEY, &sealed, &alice, Timestamp(2_000));
        assert_eq!(expired, Err(StateRefusal::Expired { run }));
    }

    #[test]
    fn a_state_with_any_character_changed_is_refused() {
        let run = RunId::from_existing("r");
        let question = QuestionId::new(&run, asked(&run), 1, Timestamp(2_000));
        let alice = owner("alice", "execute");
        let sealed = seal(&KEY, &question, &alice);
        for at in 0..sealed.len() {
            let mut forged = sealed.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            assert_eq!(open(&KEY, &forged, &alice, NOW), Err(StateRefusal::Invalid), "{at}");
        }
    }
}
