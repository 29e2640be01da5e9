//! The person at the terminal as the client of a program: sees the progress of servers, but cannot
//! be asked questions.

use std::sync::Arc;

use indicatif::ProgressBar;
use onecall_core::{Caller, ClientId, ProgressChannel};

use crate::terminal::neutralise;

/// A caller whose progress reports are shown beside a spinner.
pub(crate) fn terminal_caller(spinner: ProgressBar) -> Arc<Caller> {
    let show = |spinner: ProgressBar| -> ProgressChannel {
        Arc::new(move |report| {
            spinner.set_message(format!("{}: {}", report.name, neutralise(report.message)));
        })
    };
    let progress = (!spinner.is_hidden()).then(|| show(spinner));
    Arc::new(Caller { progress, ..Caller::silent(ClientId(0)) })
}
