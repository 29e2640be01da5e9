//! The audit trail of a gateway.

use std::sync::Arc;

use onecall_config::{AuditLevel, Config};
use onecall_core::storage::AuditTrail;
use onecall_runtime::{AuditDetail, AuditSettings, AuditWriter};

use crate::gateway::NO_STORE;
use crate::redactor;

/// Starts the writer of the audit trail, if the configuration asks for a trail. Without a store for it,
/// all calls are refused.
#[must_use]
pub fn audit_writer(
    config: &Config,
    trail: Option<Arc<dyn AuditTrail>>,
) -> Option<Arc<AuditWriter>> {
    let detail = match config.audit {
        AuditLevel::Off => return None,
        AuditLevel::Hash => AuditDetail::Digest,
        AuditLevel::Full => AuditDetail::Full,
    };
    let trail = trail.unwrap_or_else(|| onecall_store::unavailable(NO_STORE));
    let max_age = config.store.max_age;
    let settings = AuditSettings { detail, redactor: redactor(config), max_age };
    Some(AuditWriter::start(trail, settings))
}
