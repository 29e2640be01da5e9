//! Clients that leave while another gateway answers their request. That their connection is gone is known
//! only to the gateway that has forwarded the request, so it tells the other one, which then cancels the
//! request as if the client had been connected there. A gateway that ends tells nothing: its clients come
//! back through another one.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use onecall_core::storage::StoredGateway;
use onecall_core::{GatewayId, Principal};
use onecall_gateway::{Fleet, ForwardedRequest};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::router::SESSION_HEADER;

/// Where gateways tell each other that a client has left.
pub(super) const CLIENT_LEFT_PATH: &str = "/fleet/client-left";

/// The header that names a forwarded request.
const FORWARDING_HEADER: HeaderName = HeaderName::from_static("onecall-forwarding");

/// How often the report is sent to a gateway that does not know the request: it may not have read the
/// request yet.
const ATTEMPTS: u32 = 5;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(200);

/// How long the other gateway may take.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(5);

/// A client that has left.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DepartedClient {
    /// The MCP session of the request, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    /// The name of the forwarded request that the client has waited for.
    pub(super) forwarding: String,
}

impl DepartedClient {
    /// Names a request that is about to be forwarded; `None` if its client waits for no answer.
    fn name_request(head: &mut Parts) -> Option<Self> {
        if !matches!(head.method, Method::POST | Method::GET) {
            return None;
        }
        let session = head.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        let session = session.map(str::to_owned);
        let forwarding = GatewayId::generate().to_string();
        head.headers.insert(FORWARDING_HEADER, HeaderValue::from_str(&forwarding).ok()?);
        Some(Self { session, forwarding })
    }
}

/// The name of a request that another gateway has forwarded.
pub(super) fn forwarding_name(head: &Parts) -> Option<String> {
    Some(head.headers.get(FORWARDING_HEADER)?.to_str().ok()?.to_owned())
}

/// Tells the gateway that answers a request if the client leaves: when this is dropped before
/// [`answered`](Self::answered) was called.
pub(super) struct DepartureNotice {
    notice: Option<Notice>,
    /// True when this gateway ends the connections of its clients itself.
    is_stopping: watch::Receiver<bool>,
}

/// A report that a client has left, and the gateway that gets it.
struct Notice {
    fleet: Arc<Fleet>,
    gateway: StoredGateway,
    departed: DepartedClient,
    principal: Option<Arc<Principal>>,
}

impl DepartureNotice {
    /// Begins to watch over a request that `gateway` is to answer.
    pub(super) fn of(
        fleet: &Arc<Fleet>,
        gateway: &StoredGateway,
        head: &mut Parts,
        is_stopping: watch::Receiver<bool>,
    ) -> Self {
        let notice = DepartedClient::name_request(head).map(|departed| Notice {
            fleet: Arc::clone(fleet),
            gateway: gateway.clone(),
            departed,
            principal: head.extensions.get::<Arc<Principal>>().cloned(),
        });
        Self { notice, is_stopping }
    }

    /// The request is answered, or the other gateway has ended: there is nothing to tell.
    pub(super) fn answered(mut self) {
        self.notice = None;
    }
}

impl Drop for DepartureNotice {
    fn drop(&mut self) {
        if let Some(notice) = self.notice.take()
            && !*self.is_stopping.borrow()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(notice.send());
        }
    }
}

impl Notice {
    async fn send(self) {
        let body = serde_json::to_vec(&self.departed).unwrap_or_default();
        for _ in 0..ATTEMPTS {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let request = ForwardedRequest {
                method: Method::POST,
                target: CLIENT_LEFT_PATH.to_owned(),
                headers,
                body: body.clone(),
                principal: self.principal.clone(),
            };
            let told = timeout(NOTICE_TIMEOUT, self.fleet.forward(&self.gateway, request)).await;
            match told {
                Ok(Ok(response)) if response.status == StatusCode::NOT_FOUND => {}
                Ok(Ok(_)) => return,
                Ok(Err(error)) => {
                    tracing::debug!("a gateway does not learn that a client has left: {error}");
                    return;
                }
                Err(_) => return,
            }
            sleep(ATTEMPT_PAUSE).await;
        }
    }
}
