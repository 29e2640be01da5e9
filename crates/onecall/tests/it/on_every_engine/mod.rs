//! Behaviour that is the same on every engine. `cargo xtask test` runs these tests once more with
//! the system's Python, by setting `ONECALL_TEST_ENGINE`.

mod arguments;
mod asyncio;
mod concurrency;
mod contract;
mod policy;
mod replay;
mod tools_interface;
mod values;
