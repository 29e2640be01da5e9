//! The rows of browser sessions.

use onecall_core::storage::{BrowserSession, SessionProof};
use onecall_core::{Digest, Timestamp, UserName};

use super::Columns;

/// The columns that [`read_session`] reads, in its order.
pub(crate) const SESSION_COLUMNS: &str = "digest, \"user\", ends_ms, token, groups, confirmed_ms";

pub(crate) fn read_session<R: Columns>(row: &R) -> Result<BrowserSession, R::Error> {
    let proof = match row.optional_bytes(3)? {
        Some(_) => SessionProof::Token(Digest::from_bytes(row.array(3)?)),
        None => {
            SessionProof::Provider { groups: row.json(4)?, confirmed: Timestamp(row.number(5)?) }
        }
    };
    Ok(BrowserSession {
        digest: Digest::from_bytes(row.array(0)?),
        user: UserName::from_existing(row.text(1)?),
        proof,
        ends: Timestamp(row.number(2)?),
    })
}

/// How a user has signed in, as the columns for it have it.
pub(crate) struct ProofColumns {
    pub(crate) token: Option<Vec<u8>>,
    pub(crate) groups: Option<String>,
    pub(crate) confirmed: Option<i64>,
}

impl ProofColumns {
    pub(crate) fn new(proof: &SessionProof) -> Result<Self, serde_json::Error> {
        Ok(match proof {
            SessionProof::Token(digest) => {
                let token = Some(digest.into_bytes().to_vec());
                Self { token, groups: None, confirmed: None }
            }
            SessionProof::Provider { groups, confirmed } => {
                let groups = Some(serde_json::to_string(groups)?);
                Self { token: None, groups, confirmed: Some(confirmed.0) }
            }
        })
    }
}
