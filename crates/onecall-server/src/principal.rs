//! The user that a request comes from.

use std::sync::{Arc, LazyLock};

use onecall_core::Principal;
use rmcp::model::Extensions;

static LOCAL: LazyLock<Arc<Principal>> = LazyLock::new(|| Arc::new(Principal::local()));

/// The user of a request with these extensions: the one that the HTTP server has authenticated, or the
/// local user.
pub(crate) fn principal(extensions: &Extensions) -> Arc<Principal> {
    let parts = extensions.get::<hyper::http::request::Parts>();
    let authenticated = parts.and_then(|parts| parts.extensions.get::<Arc<Principal>>());
    Arc::clone(authenticated.unwrap_or(&LOCAL))
}
