//! Why a page cannot be shown, and the page that says so.

use hyper::StatusCode;
use maud::{Markup, html};
use onecall_core::storage::StoreError;
use onecall_gateway::LoginRefusal;
use thiserror::Error;

use super::text;

/// The longest error that is shown, in characters.
const MAX_MESSAGE: usize = 2_000;

/// Why a page cannot be shown.
#[derive(Debug, Error)]
pub(super) enum PageError {
    /// There is nothing at this address that the reader may see.
    #[error("there is no such page, or it is not yours to see")]
    NotFound,
    /// The reader may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The request cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// A list cannot be filtered as the query says. The form of its filters is given back.
    #[error("{message}")]
    InvalidFilter { message: String, form: Markup },
    /// What was asked for could not be done.
    #[error("{0}")]
    Failed(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be found out who the reader is.
    #[error(transparent)]
    Unavailable(LoginRefusal),
}

impl PageError {
    /// Whether the same request may succeed later.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Unavailable(_))
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Invalid(_) | Self::InvalidFilter { .. } => StatusCode::BAD_REQUEST,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Store(_) | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(super) fn title(&self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Forbidden(_) => "Not allowed",
            Self::Invalid(_) | Self::InvalidFilter { .. } => "This cannot be done",
            Self::Failed(_) => "Something failed",
            Self::Store(StoreError::Full { .. }) => "The disk is full",
            Self::Store(_) | Self::Unavailable(_) => "The store cannot be used",
        }
    }

    /// The text of the page.
    pub(super) fn body(&self) -> Markup {
        html! {
            p.problem role="alert" { (text::block(&self.to_string(), MAX_MESSAGE)) }
            @match self {
                Self::Store(error) => p { (advice(error)) },
                Self::InvalidFilter { form, .. } => (form),
                _ => {},
            }
        }
    }
}

/// What a person can do about an error of the store.
fn advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::Newer { .. } => {
            "A newer version of onecall wrote this store. Nothing was changed. Start the page with that \
             version."
        }
        StoreError::Disabled { .. } => {
            "Nothing was changed. When the reason is gone, start the page again."
        }
        StoreError::NotAStore { .. }
        | StoreError::Replaced { .. }
        | StoreError::DamagedWithRuns { .. } => {
            "The file is damaged. `onecall doctor` says more about it; a backup brings back what it held."
        }
        StoreError::Unusable { .. } => {
            "Check that the file and its folder exist, and that you may read and write them."
        }
        StoreError::Unreachable { .. } => {
            "Check that the database runs and can be reached. Programs that do not need it go on."
        }
        StoreError::Full { .. } => "Nothing was changed. Make room on the disk, and try again.",
        StoreError::Database { .. } | StoreError::AlreadyStored { .. } => {
            "Another process may be using it at the moment. If this page comes again, run `onecall doctor`."
        }
        StoreError::AuditNotIntact { .. } | StoreError::TooLarge { .. } => "Run `onecall doctor`.",
    }
}
