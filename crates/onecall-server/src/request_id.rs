//! The error for request ids that are used twice. Requests of one client are identified by their
//! ids alone.

use rmcp::ErrorData;
use rmcp::model::{RequestId, ServerJsonRpcMessage};

/// The error response for a request whose id belongs to another unanswered request. The other
/// request continues.
pub(crate) fn in_use(id: RequestId) -> ServerJsonRpcMessage {
    let message = "request id already in use: an earlier request with this id is not answered yet";
    ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), Some(id))
}
