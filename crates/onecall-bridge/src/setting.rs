//! What every connection to a server is made with.

use onecall_config::ServerLimits;

use crate::audience::Audience;

/// Who answers what servers ask, and how much is taken from each of them.
#[derive(Clone, Default)]
pub struct Setting {
    /// Who answers.
    pub audience: Audience,
    /// How much is taken.
    pub limits: ServerLimits,
    /// Whether anybody wants to know what servers say about tools for people to see.
    pub faces: bool,
}
