//! What a remote server knows us by. It begins with the handshake, goes with every
//! message, and has to be renewed by another handshake when the server forgets it.

use std::sync::{Arc, Weak};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::watch;

use super::HttpError;
use crate::protocol::peer::Peer;
use crate::protocol::request::{Era, Request};

/// Named by the server when the handshake begins.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The revision that is spoken.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The longest session id that is accepted.
const MAX_ID: usize = 4_096;

/// What goes with every message. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Session {
    id: Option<HeaderValue>,
    protocol: Option<HeaderValue>,
    stateless: bool,
    /// Tells one session from the one before.
    number: u64,
}

impl Session {
    /// Whether the server named it, and may therefore forget it.
    pub fn is_named(&self) -> bool {
        self.id.is_some()
    }

    /// Whether the server wants to know with every request who asks.
    pub fn era(&self) -> Era {
        if self.stateless { Era::Stateless } else { Era::Handshake }
    }

    /// As headers of a message.
    pub fn add_to(&self, headers: &mut HeaderMap) {
        if let Some(id) = &self.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(protocol) = &self.protocol {
            headers.insert(PROTOCOL_VERSION, protocol.clone());
        }
    }
}

/// What a request needs of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Begins one, so there is none to wait for.
    Opening,
    /// Needs one, and fails without.
    Ordinary,
    /// Needs one, and is worth another one.
    Call,
}

/// The session there is now. All who need one wait here for the handshake.
pub(crate) struct Sessions {
    peer: Weak<Peer>,
    now: watch::Sender<Now>,
}

struct Now {
    session: Session,
    stage: Stage,
}

enum Stage {
    /// A handshake is due or under way.
    Handshake,
    Open,
    /// The last handshake failed, for this reason.
    Failed(Arc<str>),
}

impl Sessions {
    pub fn new(peer: Weak<Peer>) -> Self {
        let now = Now { session: Session::default(), stage: Stage::Handshake };
        Self { peer, now: watch::Sender::new(now) }
    }

    /// The session as far as it goes now.
    pub fn current(&self) -> Session {
        self.now.borrow().session.clone()
    }

    /// Waits for an open session. If the last handshake failed, asks for another.
    pub async fn open(&self) -> Result<Session, HttpError> {
        let again = self.now.send_if_modified(|now| {
            let failed = matches!(now.stage, Stage::Failed(_));
            if failed {
                now.stage = Stage::Handshake;
            }
            failed
        });
        if again && let Some(peer) = self.peer.upgrade() {
            peer.was_forgotten();
        }
        let mut now = self.now.subscribe();
        // It cannot close: we hold the other end.
        let settled = now.wait_for(|now| !matches!(now.stage, Stage::Handshake)).await;
        let Ok(now) = settled else { return Err(HttpError::SessionLost) };
        match &now.stage {
            Stage::Failed(reason) => Err(HttpError::NoNewSession { reason: reason.to_string() }),
            Stage::Open | Stage::Handshake => Ok(now.session.clone()),
        }
    }

    /// Returns when this session is not the current one any more.
    pub async fn replaced(&self, session: &Session) {
        let mut now = self.now.subscribe();
        // It cannot close: we hold the other end.
        let _ = now.wait_for(|now| now.session.number != session.number).await;
    }

    /// What this request needs; if it begins a session, the earlier one ends now.
    pub fn kind(&self, request: &Request<'_>) -> Kind {
        match request {
            Request::Initialize { .. } | Request::Discover => {
                self.begin();
                Kind::Opening
            }
            Request::ListTools { .. } | Request::Listen => Kind::Ordinary,
            Request::CallTool { .. }
            | Request::List { .. }
            | Request::ReadResource { .. }
            | Request::GetPrompt { .. } => Kind::Call,
        }
    }

    fn begin(&self) {
        self.now.send_modify(|now| {
            let number = now.session.number + 1;
            now.session = Session { number, ..Session::default() };
            now.stage = Stage::Handshake;
        });
    }

    /// The server gave the session a name.
    pub fn named(&self, id: &HeaderValue) {
        let visible = |byte: &u8| (0x21..=0x7e).contains(byte);
        if id.len() <= MAX_ID && id.as_bytes().iter().all(visible) {
            self.now.send_modify(|now| now.session.id = Some(id.clone()));
        }
    }

    /// The handshake has agreed on a revision, or failed.
    pub fn introduced(&self, outcome: Result<&str, &str>) {
        self.now.send_modify(|now| match outcome {
            Ok(version) => {
                now.session.protocol = HeaderValue::from_str(version).ok();
                now.session.stateless = Era::of(version) == Era::Stateless;
                // There is no last word to wait for.
                if now.session.stateless {
                    now.stage = Stage::Open;
                }
            }
            Err(reason) => now.stage = Stage::Failed(reason.into()),
        });
    }

    /// The last word of the handshake has been delivered.
    pub fn opened(&self) {
        self.now.send_modify(|now| now.stage = Stage::Open);
    }

    /// The server has forgotten this session; true for the first who notices.
    pub fn lost(&self, session: &Session) -> bool {
        self.now.send_if_modified(|now| {
            let current = matches!(now.stage, Stage::Open) && now.session.number == session.number;
            if current {
                now.stage = Stage::Handshake;
            }
            current
        })
    }
}
