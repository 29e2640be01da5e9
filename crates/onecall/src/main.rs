//! The `onecall` command line.

mod claude_code;
mod cli;
mod commands;
mod comparison;
mod demo;
mod difference;
mod figures;
mod http;
mod layout;
mod live;
mod logging;
mod pages;
mod reload;
mod setup;
mod span;
mod spectator;
mod table;
mod telemetry;
mod terminal;
mod waiting;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    pages::small();
    commands::run(cli::Cli::parse())
}
