//! What clients use of bridged servers directly: tools (`tools`), resources and prompts (`requests`),
//! the answers of servers to such requests (`answer`), and subscriptions to resources
//! (`subscriptions`). Texts that a model reads in a list are made readable; answers are passed on
//! unchanged.

mod answer;
mod definitions;
mod requests;
mod subscriptions;
mod tools;

pub(crate) use answer::{ServerAnswer, protocol_error};
pub(crate) use requests::client_input;
pub(crate) use subscriptions::{ResourceUpdates, Subscriptions};
pub(crate) use tools::{definition, result, result_of_run};
