//! The `onecall` executable: starts the command line, or the helper process that it was started as.

mod claude_code;
mod cli;
mod color;
mod command_line;
mod commands;
mod configuration;
mod container;
mod demo;
mod file_diff;
mod formatting;
mod http;
mod listings;
mod live;
mod logging;
mod logs;
mod pretty_json;
mod protection;
mod reload;
mod replay;
mod setup;
mod store;
mod system;
mod table;
mod telemetry;
mod terminal;
mod terminal_caller;
mod terminal_questions;
mod time_span;
mod token_counter;
mod user_vault;
mod waiting;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    system::use_small_pages();
    let command = || {
        // A store or a log that reaches `ulimit -f` is a failed write, as on a full disk. Where the
        // system refuses that, such a write ends the process, as it does by default.
        _ = onecall_engine::ignore_file_size_signal();
        commands::run(cli::Cli::parse_words(command_line::of_process()))
    };
    onecall_engine::run_if_zygote().unwrap_or_else(command)
}
