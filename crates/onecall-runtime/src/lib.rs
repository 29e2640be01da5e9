//! One program from start to [`Outcome`]: its limits, its output, and the stack of
//! layers its tool calls walk through on their way to the host that executes them.

mod answer;
mod capture;
mod directory;
mod gateway;
pub mod layers;
mod observer;
mod plan;
mod report;
mod runtime;
mod visit;

pub use answer::PlanAnswer;
pub use gateway::{Gateway, ToolNotFound};
pub use observer::{Observer, Silent};
pub use plan::{Plan, PlanProblems, PlanRequest};
pub use report::report;
pub use runtime::Runtime;
