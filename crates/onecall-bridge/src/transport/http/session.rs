//! Sessions with a remote server. A session begins with a handshake, is named in every message, and
//! has to be renewed by another handshake when the server has lost it.

use std::sync::{Arc, Weak};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::watch;

use super::HttpError;
use crate::protocol::peer::Peer;
use crate::protocol::request::{ProtocolMode, Request};

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
    pub fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Whether the protocol revision of the session has a handshake.
    pub fn protocol_mode(&self) -> ProtocolMode {
        if self.stateless { ProtocolMode::Stateless } else { ProtocolMode::Handshake }
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
pub(crate) enum SessionUse {
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
    state: watch::Sender<SessionState>,
}

struct SessionState {
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
        let state = SessionState { session: Session::default(), stage: Stage::Handshake };
        Self { peer, state: watch::Sender::new(state) }
    }

    /// The current session, even if its handshake is not complete.
    pub fn current(&self) -> Session {
        self.state.borrow().session.clone()
    }

    /// Waits for an open session. If the last handshake failed, requests another one.
    pub async fn wait_until_open(&self) -> Result<Session, HttpError> {
        let again = self.state.send_if_modified(|state| {
            let failed = matches!(state.stage, Stage::Failed(_));
            if failed {
                state.stage = Stage::Handshake;
            }
            failed
        });
        if again && let Some(peer) = self.peer.upgrade() {
            peer.report_session_lost();
        }
        let mut state = self.state.subscribe();
        // The channel cannot close: this object holds the sender.
        let settled = state.wait_for(|state| !matches!(state.stage, Stage::Handshake)).await;
        let Ok(state) = settled else { return Err(HttpError::SessionLost) };
        match &state.stage {
            Stage::Failed(reason) => Err(HttpError::NoNewSession { reason: reason.to_string() }),
            Stage::Open | Stage::Handshake => Ok(state.session.clone()),
        }
    }

    /// Returns when this session is no longer the current one.
    pub async fn wait_until_replaced(&self, session: &Session) {
        let mut state = self.state.subscribe();
        // The channel cannot close: this object holds the sender.
        let _ = state.wait_for(|state| state.session.number != session.number).await;
    }

    /// How this request depends on a session; if it begins one, the earlier session ends now.
    pub fn session_use(&self, request: &Request<'_>) -> SessionUse {
        match request {
            Request::Initialize { .. } | Request::Discover => {
                self.begin();
                SessionUse::Opening
            }
            Request::ListTools { .. }
            | Request::Subscribe { .. }
            | Request::Unsubscribe { .. }
            | Request::SetLogLevel { .. }
            | Request::Listen { .. } => SessionUse::Ordinary,
            Request::CallTool { .. }
            | Request::List { .. }
            | Request::ReadResource { .. }
            | Request::GetPrompt { .. }
            | Request::Complete { .. } => SessionUse::Call,
        }
    }

    fn begin(&self) {
        self.state.send_modify(|state| {
            let number = state.session.number + 1;
            state.session = Session { number, ..Session::default() };
            state.stage = Stage::Handshake;
        });
    }

    /// Stores the id that the server assigned to the session.
    pub fn set_id(&self, id: &HeaderValue) {
        let visible = |byte: &u8| (0x21..=0x7e).contains(byte);
        if id.len() <= MAX_ID && id.as_bytes().iter().all(visible) {
            self.state.send_modify(|state| state.session.id = Some(id.clone()));
        }
    }

    /// Records the result of the handshake: the agreed revision, or the error.
    pub fn handshake_finished(&self, outcome: Result<&str, &str>) {
        self.state.send_modify(|state| match outcome {
            Ok(version) => {
                state.session.protocol = HeaderValue::from_str(version).ok();
                state.session.stateless = ProtocolMode::of(version) == ProtocolMode::Stateless;
                // Without a handshake there is no final notification to wait for.
                if state.session.stateless {
                    state.stage = Stage::Open;
                }
            }
            Err(reason) => state.stage = Stage::Failed(reason.into()),
        });
    }

    /// Records that the final notification of the handshake was sent.
    pub fn mark_open(&self) {
        self.state.send_modify(|state| state.stage = Stage::Open);
    }

    /// Records that the server has lost this session; returns true for the first report only.
    pub fn mark_lost(&self, session: &Session) -> bool {
        self.state.send_if_modified(|state| {
            let current =
                matches!(state.stage, Stage::Open) && state.session.number == session.number;
            if current {
                state.stage = Stage::Handshake;
            }
            current
        })
    }
}
