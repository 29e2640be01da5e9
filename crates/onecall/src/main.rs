//! The `onecall` command line.

mod claude_code;
mod cli;
mod color;
mod commands;
mod comparison;
mod configuration;
mod demo;
mod difference;
mod figures;
mod http;
mod layout;
mod listings;
mod live;
mod logging;
mod logs;
mod protection;
mod reload;
mod setup;
mod span;
mod spectator;
mod system;
mod table;
mod telemetry;
mod terminal;
mod waiting;
mod words;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    system::use_small_pages();
    commands::run(cli::Cli::of_words(words::of_process()))
}
