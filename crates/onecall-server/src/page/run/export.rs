//! A run as a file: JSON, or HTML that needs nothing else.

use maud::html;
use onecall_core::storage::RunRecord;

use super::decisions::Decisions;
use super::{call_lines, calls, facts, output, pictures, program, timeline};
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::fields::Fields;
use crate::page::layout;
use crate::page::reply::PageAnswer;

/// The longest output in a file, in bytes.
const MAX_OUTPUT: usize = 1_000_000;

const TEXT: &str = "text/plain; charset=utf-8";

pub(super) fn output_file(record: &RunRecord) -> PageAnswer {
    let content = record.output.clone().unwrap_or_default();
    PageAnswer::File { kind: TEXT, name: format!("{}-output.txt", record.run.id), content }
}

pub(super) fn program_file(record: &RunRecord) -> PageAnswer {
    let content = record.program.clone();
    PageAnswer::File { kind: TEXT, name: format!("{}-program.txt", record.run.id), content }
}

pub(super) fn error_file(record: &RunRecord) -> Result<PageAnswer, PageError> {
    let (kind, message) = record.run.error.as_ref().ok_or(PageError::NotFound)?;
    let name = format!("{}-error.txt", record.run.id);
    Ok(PageAnswer::File { kind: TEXT, name, content: format!("{kind}: {message}\n") })
}

pub(super) fn json(record: &RunRecord) -> PageAnswer {
    let content = format!("{:#}\n", record.to_json());
    let name = format!("{}.json", record.run.id);
    PageAnswer::File { kind: "application/json", name, content }
}

pub(super) fn html(context: &PageContext, record: &RunRecord) -> Result<PageAnswer, PageError> {
    let lines = call_lines::of(record);
    let decisions = Decisions::read(context, record)?;
    let whole = Fields::default();
    let program = program::program(record, &lines, &decisions, &whole, calls::Extent::File);
    let body = html! {
        (facts::facts(record))
        (facts::error(record, &program.links, calls::Extent::File))
        @if !record.calls.is_empty() {
            section { h2 { "Calls" }
                (timeline::picture(record, &whole))
                (calls::table(context, record, &lines, &decisions, &program, calls::Extent::File)) }
        }
        section { h2 { "Program" } (program.markup) }
        (output(&record.run, record.output.as_deref(), MAX_OUTPUT))
        (pictures::section(record, calls::Extent::File))
    };
    let title = format!("Run {}", record.run.id);
    let content = layout::standalone(&title, &body).into_string();
    let name = format!("{}.html", record.run.id);
    Ok(PageAnswer::File { kind: "text/html; charset=utf-8", name, content })
}
