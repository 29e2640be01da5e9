//! Runs programs, each in a process of its own.
//!
//! The gateway's side is [`Engine`]: it keeps a zygote and a few workers forked
//! ahead, hands a worker its program and answers its tool calls through a
//! [`ToolHost`](onecall_core::ToolHost). The worker's side is
//! [`run_python_zygote`], the body of a process that the engine starts.

mod calls;
mod connection;
mod pool;
mod protocol;
mod python;
mod worker;
mod zygote;

pub use onecall_jail::Mode as JailMode;
pub use pool::{Engine, EngineError};
pub use python::run_zygote as run_python_zygote;
pub use worker::ProgramOutput;
pub use zygote::ZygoteCommand;
