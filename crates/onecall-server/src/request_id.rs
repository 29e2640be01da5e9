//! Requests of one client are told apart by their ids alone.

use rmcp::ErrorData;
use rmcp::model::{RequestId, ServerJsonRpcMessage};

/// The answer to a request whose id another request has that is not answered yet. The other
/// one goes on.
pub(crate) fn in_use(id: RequestId) -> ServerJsonRpcMessage {
    let message = "request id already in use: an earlier request with this id is not answered yet";
    ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), Some(id))
}
