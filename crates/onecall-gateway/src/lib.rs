//! The gateway: puts together a configuration, the servers that it bridges, the runtime that runs
//! programs with their tools, and the store. It can switch to another configuration while it runs.

mod admitted_work;
mod audit;
mod bridged_resources;
mod bridged_tools;
mod direct_call;
mod drain;
mod durable;
mod exposed;
mod fleet;
mod gateway;
mod identities;
mod inspection;
mod last_known_tools;
mod list_changes;
mod listing_store;
mod pin_watch;
mod plan;
mod policies;
mod readiness;
mod reload;
mod revision;
mod rules;
mod running_runs;
mod search;
mod server_logins;
mod settings;
mod tool_folder;
mod tree;
mod unused;
mod user_bridges;
mod user_logins;
mod users;
mod views;

pub use audit::audit_writer;
pub use durable::{
    AcceptedConfiguration, AskedCall, BeginError, QuestionId, ResumeError, RunAnswer, RunFollower,
    RunRequest, RunStatus, RunWatch, StateOwner, StateRefusal, WaitingRun, is_sealed_state,
};
pub use exposed::{ExposedList, ExposedPrompt, ExposedTool, ResourceSubscription};
pub use fleet::{
    ALIVE_PATH, Fleet, ForwardError, ForwardedRequest, ForwardedResponse, HandleOwner,
    InvalidProof, PROOF_HEADER, ProvenRequest,
};
pub use gateway::{Gateway, GatewayStorage, ToolNotFound};
pub use inspection::{
    AcceptError, CallExplanation, ChangedPart, ChangedTool, PinChanges, explained_run,
};
pub use last_known_tools::{LastKnownTools, Refresh};
pub use list_changes::ListChanges;
pub use listing_store::ListingStore;
pub use onecall_bridge::ToolDisplayMetadata;
pub use onecall_bridge::{ClientRegistration, ServerEvent, ServerEventKind};
pub use readiness::NotReady;
pub use reload::Reloaded;
pub use search::{FoundTool, NoSuchServer, SearchResults, ToolSearch};
pub use server_logins::{LoginAddress, ServerLogin, ServerLoginError};
pub use settings::{record_settings, redactor};
pub use tool_folder::ToolFolder;
pub use tree::ToolTree;
pub use unused::unused_entries;
pub use user_logins::{
    BrowserProof, CALLBACK_PATH, LOGIN_PATH, LoginContinuation, LoginQuestion, ProofKind,
    TypedUserName, UserLoginError, UserLogins,
};
pub use users::{
    Authenticator, BrowserLoginError, DEFAULT_TOKEN_LIFETIME, InvalidIssuer, IssuerProblem,
    LoginPrompt, LoginRefusal, MAX_TOKEN_LIFETIME, PendingBrowserLogin, PersonalToken, ProvenUser,
    RefusalKind, SessionState, StartedBrowserLogin, check_issuer,
};
