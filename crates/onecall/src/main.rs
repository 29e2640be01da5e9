//! The `onecall` command line.

mod cli;
mod commands;
mod comparison;
mod demo;
mod figures;
mod http;
mod layout;
mod logging;
mod reload;
mod setup;
mod span;
mod spectator;
mod telemetry;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    commands::run(cli::Cli::parse())
}
