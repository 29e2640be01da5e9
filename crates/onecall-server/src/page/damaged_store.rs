//! Says that an earlier store was damaged and replaced by an empty one: what is missing did run.

use maud::{Markup, html};

use super::context::PageContext;
use super::text;

/// How many files are named.
const MAX_FILES: usize = 5;

/// The notice, for those who see what belongs to all users.
pub(super) fn notice(context: &PageContext) -> Markup {
    let files = match context.sees_everyone() {
        true => context.store.damaged_files(),
        false => Vec::new(),
    };
    html! {
        @if !files.is_empty() {
            div.problem role="status" {
                strong { "The store was damaged, and an empty one has replaced it." }
                p { "Runs, approvals and figures from before are not shown. The damaged file was set aside:" }
                ul { @for file in files.iter().rev().take(MAX_FILES) { li { code.long { (text::line(&file.display().to_string(), 300)) } } } }
                p { "A backup brings back what it held. Move the file to another folder, and this notice ends." }
            }
        }
    }
}
