//! The exchange with a client about a run that waits for a person: the text that says so, the form
//! that asks the client's user, and the results that ask for input.

mod form;
mod input_required;
mod requests;
mod serving;
mod waiting;
mod waiting_text;

pub(crate) use requests::DurableRequests;
pub(crate) use waiting::WaitError;
