//! Sessions with a remote server. A session begins with a handshake, is named in every message, and
//! has to be renewed by another handshake when the server has lost it.

use std::sync::{Arc, Weak};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::watch;

use super::HttpError;
use crate::protocol::peer::Peer;
use crate::protocol::request::{Era, Request};

/// The header for the session id, which the server assigns in the handshake.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The header for the protocol revision in use.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The longest session id that is accepted.
const MAX_ID: usize = 4_096;

/// The session data that is sent with every message. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Session {
    id: Option<HeaderValue>,
    protocol: Option<HeaderValue>,
    stateless: bool,
    /// Distinguishes this session from earlier ones.
    number: u64,
}

impl Session {
    /// Whether the server has assigned an id, so that it can lose the session.
    pub fn is_named(&self) -> bool {
        self.id.is_some()
    }

    /// Whether the protocol revision of the session has a handshake.
    pub fn era(&self) -> Era {
        if self.stateless { Era::Stateless } else { Era::Handshake }
    }

    /// Adds the session to the headers of a message.
    pub fn add_to(&self, headers: &mut HeaderMap) {
        if let Some(id) = &self.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(protocol) = &self.protocol {
            headers.insert(PROTOCOL_VERSION, protocol.clone());
        }
    }
}

/// How a request depends on a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The request begins a session, so it does not wait for one.
    Opening,
    /// The request needs a session, and fails if the session is lost.
    Ordinary,
    /// The request needs a session, and is sent again in a new one if the session is lost.
    Call,
}

/// The current session. Requests wait here until the handshake is complete.
pub(crate) struct Sessions {
    peer: Weak<Peer>,
    now: watch::Sender<Now>,
}

struct Now {
    session: Session,
    stage: Stage,
}

enum Stage {
    /// A handshake is needed or in progress.
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

    /// The current session, even if its handshake is not complete.
    pub fn current(&self) -> Session {
        self.now.borrow().session.clone()
    }

    /// Waits for an open session. If the last handshake failed, requests another one.
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
        // The channel cannot close: this object holds the sender.
        let settled = now.wait_for(|now| !matches!(now.stage, Stage::Handshake)).await;
        let Ok(now) = settled else { return Err(HttpError::SessionLost) };
        match &now.stage {
            Stage::Failed(reason) => Err(HttpError::NoNewSession { reason: reason.to_string() }),
            Stage::Open | Stage::Handshake => Ok(now.session.clone()),
        }
    }

    /// Returns when this session is no longer the current one.
    pub async fn replaced(&self, session: &Session) {
        let mut now = self.now.subscribe();
        // The channel cannot close: this object holds the sender.
        let _ = now.wait_for(|now| now.session.number != session.number).await;
    }

    /// How this request depends on a session; if it begins one, the earlier session ends now.
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

    /// Stores the id that the server assigned to the session.
    pub fn named(&self, id: &HeaderValue) {
        let visible = |byte: &u8| (0x21..=0x7e).contains(byte);
        if id.len() <= MAX_ID && id.as_bytes().iter().all(visible) {
            self.now.send_modify(|now| now.session.id = Some(id.clone()));
        }
    }

    /// Records the result of the handshake: the agreed revision, or the error.
    pub fn introduced(&self, outcome: Result<&str, &str>) {
        self.now.send_modify(|now| match outcome {
            Ok(version) => {
                now.session.protocol = HeaderValue::from_str(version).ok();
                now.session.stateless = Era::of(version) == Era::Stateless;
                // Without a handshake there is no final notification to wait for.
                if now.session.stateless {
                    now.stage = Stage::Open;
                }
            }
            Err(reason) => now.stage = Stage::Failed(reason.into()),
        });
    }

    /// Records that the final notification of the handshake was sent.
    pub fn opened(&self) {
        self.now.send_modify(|now| now.stage = Stage::Open);
    }

    /// Records that the server has lost this session; returns true for the first report only.
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
