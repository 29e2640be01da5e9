//! Requests that another gateway has to answer, because it has the session that they name.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use onecall_core::Principal;
use onecall_core::storage::StoredGateway;
use onecall_gateway::{Fleet, ForwardError, ForwardedRequest, ForwardedResponse, HandleOwner};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::departed_clients::DepartureNotice;
use super::response::{PartsBody, PlainBody, text};

/// Where a request is answered.
pub(super) enum Destination {
    /// Here.
    Here,
    /// By another gateway.
    Other(StoredGateway),
    /// Nowhere: the gateway that had the session has ended.
    Lost,
    /// The store of the gateways cannot be read at present.
    Unknown,
}

/// Finds the gateway that has to answer a request that names this session.
pub(super) async fn destination(fleet: &Fleet, session: &str) -> Destination {
    match fleet.owner_of(session).await {
        Ok(HandleOwner::Here) => Destination::Here,
        Ok(HandleOwner::Other(gateway)) => Destination::Other(gateway),
        Ok(HandleOwner::Ended) => Destination::Lost,
        Err(error) => {
            tracing::warn!("cannot find out which gateway has a session: {error}");
            Destination::Unknown
        }
    }
}

/// The response to a request whose session is lost.
pub(super) fn lost_session() -> Response<PlainBody> {
    let message = "Not Found: the session is lost, because the gateway that had it has ended; begin a new one\n";
    text(StatusCode::NOT_FOUND, message)
}

/// The response to a request while the store of the gateways cannot be read.
pub(super) fn unknown_destination() -> Response<PlainBody> {
    unavailable("it is not known which gateway has the session")
}

/// The handle of a session in the arguments of a tool call, if there is one.
pub(super) fn handle_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        params: Params,
    }
    #[derive(Deserialize)]
    struct Params {
        arguments: Arguments,
    }
    #[derive(Deserialize)]
    struct Arguments {
        session: String,
    }
    let message: Message = serde_json::from_slice(body).ok()?;
    Some(message.params.arguments.session)
}

/// Sends a request to the gateway that has its session, and passes the answer on as it comes. That gateway is
/// told by `departure` if the client leaves before the answer has ended.
pub(super) async fn forward(
    fleet: &Arc<Fleet>,
    gateway: &StoredGateway,
    head: Parts,
    body: Bytes,
    principal: Option<Arc<Principal>>,
    departure: Option<DepartureNotice>,
) -> Response<PlainBody> {
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let (method, headers, body) = (head.method, head.headers, body.into());
    let request = ForwardedRequest { method, target, headers, body, principal };
    let forwarded = fleet.forward(gateway, request).await;
    let response = match forwarded {
        Ok(response) => return passed_on(fleet, response, departure),
        Err(ForwardError::Replaced | ForwardError::Ended) => lost_session(),
        Err(error @ ForwardError::Unanswered(_)) => {
            tracing::warn!("the gateway {} does not answer: {error}", gateway.id);
            let message = "Bad Gateway: the gateway that has the session has not answered; it may have begun \
                           what it was asked for\n";
            text(StatusCode::BAD_GATEWAY, message)
        }
        Err(error) => {
            tracing::warn!("cannot reach the gateway {}: {error}", gateway.id);
            unavailable("the gateway that has the session cannot be reached")
        }
    };
    departure.into_iter().for_each(DepartureNotice::answered);
    response
}

fn passed_on(
    fleet: &Arc<Fleet>,
    forwarded: ForwardedResponse,
    departure: Option<DepartureNotice>,
) -> Response<PlainBody> {
    let (status, headers) = (forwarded.status, forwarded.headers.clone());
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(pass_parts_on(Arc::clone(fleet), forwarded, sender, departure));
    let mut response = Response::new(PartsBody(receiver).boxed());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Passes the parts of a body on until it ends or the client leaves.
async fn pass_parts_on(
    fleet: Arc<Fleet>,
    mut forwarded: ForwardedResponse,
    client: mpsc::Sender<Bytes>,
    departure: Option<DepartureNotice>,
) {
    loop {
        let part = tokio::select! {
            part = forwarded.next_part(&fleet) => part,
            () = client.closed() => return,
        };
        let Some(part) = part else {
            return departure.into_iter().for_each(DepartureNotice::answered);
        };
        if client.send(part.into()).await.is_err() {
            return;
        }
    }
}

fn unavailable(reason: &str) -> Response<PlainBody> {
    let message = format!("Service Unavailable: {reason}\n");
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, &message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}
