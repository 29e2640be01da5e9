//! Runs with a journal, and calls that wait for a person.

mod cuts;
mod desk;
mod divergence;
mod edited_arguments;
mod engine;
mod may_ask;
mod other_runs;
mod programs;
mod records;
mod replays;
mod store;
mod unwritten;
mod world;
