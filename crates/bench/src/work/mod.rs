//! The measurements, one file each.

mod arithmetic;
mod audit;
mod budget;
mod cache;
mod catalog;
mod commands;
mod crowd;
mod durable;
mod engines;
mod fleet;
mod hello;
mod memory;
mod page;
mod page_store;
mod parallel;
mod plans;
mod policy;
mod records;
mod rows;
mod sandbox;
mod sequential;
mod servers;
mod start;

use super::section::Section;
use super::subject::Subject;

/// A measurement.
pub struct Work {
    pub name: &'static str,
    pub measure: fn(&Subject) -> Result<Section, String>,
}

/// All measurements, in the order of the report.
pub const WORKS: [Work; 22] = [
    Work { name: "hello", measure: hello::measure },
    Work { name: "sequential", measure: sequential::measure },
    Work { name: "budget", measure: budget::measure },
    Work { name: "cache", measure: cache::measure },
    Work { name: "records", measure: records::measure },
    Work { name: "audit", measure: audit::measure },
    Work { name: "durable", measure: durable::measure },
    Work { name: "fleet", measure: fleet::measure },
    Work { name: "parallel", measure: parallel::measure },
    Work { name: "plans", measure: plans::measure },
    Work { name: "policy", measure: policy::measure },
    Work { name: "rows", measure: rows::measure },
    Work { name: "start", measure: start::measure },
    Work { name: "commands", measure: commands::measure },
    Work { name: "memory", measure: memory::measure },
    Work { name: "arithmetic", measure: arithmetic::measure },
    Work { name: "engines", measure: engines::measure },
    Work { name: "sandbox", measure: sandbox::measure },
    Work { name: "crowd", measure: crowd::measure },
    Work { name: "catalog", measure: catalog::measure },
    Work { name: "servers", measure: servers::measure },
    Work { name: "page", measure: page::measure },
];

/// The smallest program that shows it ran.
const HELLO: &str = "print('hello')";
