//! The user that a request comes from.

use std::sync::Arc;

use hyper::http::request::Parts;
use onecall_core::Principal;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// The user that the router has found for this request, with the groups at the time of the request. It
/// is the local user on stdio, and over HTTP if the configuration has no users.
pub(crate) fn principal(context: &RequestContext<RoleServer>) -> Arc<Principal> {
    let parts = context.extensions.get::<Parts>();
    let principal = parts.and_then(|parts| parts.extensions.get::<Arc<Principal>>());
    principal.cloned().unwrap_or_else(|| Arc::new(Principal::local()))
}
