//! The header by which a gateway proves to another one that a request comes from it, and for which
//! user. It is signed with the secret of the fleet, belongs to one request, and is accepted once.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use onecall_core::{Digest, GatewayId, Principal, Timestamp, UserName};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use thiserror::Error;

use super::{Fleet, ForwardedRequest};

/// The header with the proof.
pub const PROOF_HEADER: &str = "onecall-forwarded";

/// The time by which the clocks of gateways may differ.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(30);

/// What a proof says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    /// The gateway that the request is for.
    to: String,
    /// When the proof was made, in milliseconds since 1970.
    at: i64,
    /// Differs for each proof.
    nonce: String,
    method: String,
    target: String,
    /// The digest of the body.
    body: String,
    /// The user of the request, if there are users.
    user: Option<String>,
    groups: BTreeSet<String>,
}

/// A request that another gateway has forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenRequest {
    /// The user of the request; `None` if there are no users.
    pub principal: Option<Principal>,
    /// The digest that the body must have.
    body: String,
}

impl ProvenRequest {
    /// Whether the request was forwarded with this body.
    #[must_use]
    pub fn has_body(&self, body: &[u8]) -> bool {
        Digest::of(body).to_string() == self.body
    }
}

/// Why a request that claims to be forwarded is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidProof {
    /// The proof was not made with the secret of the fleet, or cannot be read.
    #[error("the request was not forwarded by a gateway of this fleet")]
    Signature,
    /// The proof is for another gateway: one that had this address before.
    #[error("the request is for another gateway than the one at this address")]
    OtherGateway,
    /// The proof is for another request.
    #[error("the proof belongs to another request")]
    OtherRequest,
    /// The proof is too old, or was made in the future.
    #[error(
        "the clocks of the gateways differ by more than {} seconds, or the request was under way for as long; \
         synchronise the clocks of the machines",
        CLOCK_DIFFERENCE.as_secs()
    )]
    Time,
    /// The proof was used before.
    #[error("the proof was used before")]
    Used,
}

/// The proofs that were accepted and have not expired: those since a time, and those before it.
#[derive(Default)]
pub(super) struct SeenProofs(Mutex<SeenNonces>);

#[derive(Default)]
struct SeenNonces {
    since: Option<Instant>,
    newer: HashSet<String>,
    older: HashSet<String>,
}

impl SeenProofs {
    /// Remembers a proof; returns whether it is new.
    fn insert(&self, nonce: &str) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A proof expires twice the difference of clocks after the earliest moment at which it is valid.
        if seen.since.is_none_or(|since| since.elapsed() > CLOCK_DIFFERENCE * 2) {
            (seen.since, seen.older) = (Some(Instant::now()), std::mem::take(&mut seen.newer));
        }
        !seen.older.contains(nonce) && seen.newer.insert(nonce.to_owned())
    }
}

impl Fleet {
    /// The proof for a request to another gateway.
    pub(super) fn prove(&self, to: &GatewayId, request: &ForwardedRequest) -> String {
        self.prove_at(Timestamp::now(), to, request)
    }

    fn prove_at(&self, now: Timestamp, to: &GatewayId, request: &ForwardedRequest) -> String {
        let principal = request.principal.as_deref();
        let proof = Proof {
            to: to.to_string(),
            at: now.0,
            nonce: format!("{}{}", GatewayId::generate(), GatewayId::generate()),
            method: request.method.to_string(),
            target: request.target.clone(),
            body: Digest::of(&request.body).to_string(),
            user: principal.map(|principal| principal.user.as_str().to_owned()),
            groups: principal.map(|principal| principal.groups.clone()).unwrap_or_default(),
        };
        // Texts and numbers can always be written.
        let content = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&proof).unwrap_or_default());
        let signature = URL_SAFE_NO_PAD.encode(self.signer(&content).finalize().into_bytes());
        format!("{content}.{signature}")
    }

    /// Checks the proof of a request for this gateway.
    ///
    /// # Errors
    /// If the request was not forwarded by another gateway of the fleet.
    pub fn check_proof(
        &self,
        header: &str,
        method: &str,
        target: &str,
    ) -> Result<ProvenRequest, InvalidProof> {
        let proof = self.read_proof(header).ok_or(InvalidProof::Signature)?;
        if proof.to != self.id.as_str() {
            return Err(InvalidProof::OtherGateway);
        }
        if proof.method != method || proof.target != target {
            return Err(InvalidProof::OtherRequest);
        }
        let (now, at) = (Timestamp::now(), Timestamp(proof.at));
        if now.since(at).max(at.since(now)) > CLOCK_DIFFERENCE {
            return Err(InvalidProof::Time);
        }
        if !self.seen.insert(&proof.nonce) {
            return Err(InvalidProof::Used);
        }
        let (user, groups) = (proof.user.map(UserName::from_existing), proof.groups);
        let principal = user.map(|user| Principal { user, groups });
        Ok(ProvenRequest { principal, body: proof.body })
    }

    fn read_proof(&self, header: &str) -> Option<Proof> {
        let (content, signature) = header.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.signer(content).verify_slice(&signature).ok()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(content).ok()?).ok()
    }

    /// Computes the signature of this content.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    fn signer(&self, content: &str) -> Hmac<Sha256> {
        let key = self.config.secret.reveal().as_bytes();
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("a key");
        mac.update(b"onecall forwarded request\n");
        mac.update(content.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use onecall_config::FleetConfig;
    use onecall_core::Secret;
    use onecall_core::storage::{FleetStore, PinStore, StoreError, StoredGateway, UsageByUser};
    use reqwest::Method;
    use reqwest::header::HeaderMap;

    use super::*;

    struct NoStore;

    impl FleetStore for NoStore {
        fn put_gateway(&self, _: &StoredGateway, _: Timestamp) -> Result<(), StoreError> {
            Ok(())
        }

        fn remove_gateway(&self, _: &GatewayId) -> Result<(), StoreError> {
            Ok(())
        }

        fn gateway(&self, _: &GatewayId) -> Result<Option<StoredGateway>, StoreError> {
            Ok(None)
        }

        fn shared_pins(&self) -> Option<&dyn PinStore> {
            None
        }

        fn exchange_usage(
            &self,
            _: &GatewayId,
            _: &UsageByUser,
            _: Timestamp,
        ) -> Result<UsageByUser, StoreError> {
            Ok(UsageByUser::new())
        }
    }

    fn gateway(secret: &str) -> Arc<Fleet> {
        let config = FleetConfig {
            advertise: "http://127.0.0.1:1".to_owned(),
            secret: Secret::new(secret),
            lease: CLOCK_DIFFERENCE,
            drain: CLOCK_DIFFERENCE,
        };
        Fleet::new(config, Arc::new(NoStore))
    }

    fn request(principal: Option<Principal>) -> ForwardedRequest {
        ForwardedRequest {
            method: Method::POST,
            target: "/mcp".to_owned(),
            headers: HeaderMap::new(),
            body: b"{}".to_vec(),
            principal: principal.map(Arc::new),
        }
    }

    #[test]
    fn a_proof_carries_the_user_and_is_accepted_once() {
        let (from, to) = (gateway("a secret"), gateway("a secret"));
        let groups = BTreeSet::from(["dev".to_owned()]);
        let anna = Principal { user: UserName::from_existing("anna"), groups };
        for principal in [None, Some(anna)] {
            let proof = from.prove(to.id(), &request(principal.clone()));
            let proven = to.check_proof(&proof, "POST", "/mcp").unwrap();
            assert_eq!(proven.principal, principal);
            assert!(proven.has_body(b"{}") && !proven.has_body(b"{ }"));
            assert_eq!(to.check_proof(&proof, "POST", "/mcp"), Err(InvalidProof::Used));
        }
    }

    #[test]
    fn a_proof_is_for_one_request_to_one_gateway() {
        let (from, to, third) = (gateway("a secret"), gateway("a secret"), gateway("a secret"));
        let proof = from.prove(to.id(), &request(None));
        let check = |gateway: &Fleet, method: &str, target: &str| {
            gateway.check_proof(&proof, method, target).map(drop)
        };
        assert_eq!(check(&third, "POST", "/mcp"), Err(InvalidProof::OtherGateway));
        assert_eq!(check(&to, "DELETE", "/mcp"), Err(InvalidProof::OtherRequest));
        assert_eq!(check(&to, "POST", "/mcp?x"), Err(InvalidProof::OtherRequest));
        assert_eq!(check(&to, "POST", "/mcp"), Ok(()));
    }

    #[test]
    fn clocks_that_differ_are_named() {
        let (from, to) = (gateway("a secret"), gateway("a secret"));
        let now = Timestamp::now();
        let minute = Duration::from_secs(60);
        for at in [now.before(minute), now.after(minute)] {
            let proof = from.prove_at(at, to.id(), &request(None));
            let refused = to.check_proof(&proof, "POST", "/mcp").unwrap_err();
            assert_eq!(refused, InvalidProof::Time);
            let expected = "the clocks of the gateways differ by more than 30 seconds, or the request was \
                            under way for as long; synchronise the clocks of the machines";
            assert_eq!(refused.to_string(), expected);
        }
    }

    #[test]
    fn a_proof_that_was_not_made_with_the_secret_is_refused() {
        let (from, to) = (gateway("another secret"), gateway("a secret"));
        let forged = from.prove(to.id(), &request(None));
        let (content, signature) = forged.split_once('.').unwrap();
        let unsigned = format!("{content}.");
        let cut = &signature[..10];
        for proof in ["", ".", content, &forged, &unsigned, &format!("{content}.{cut}")] {
            assert_eq!(to.check_proof(proof, "POST", "/mcp"), Err(InvalidProof::Signature));
        }
    }
}
