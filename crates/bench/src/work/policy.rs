//! Decisions of policies: a thousand policies, ten thousand tools. They are measured without a gateway
//! around them, by an example of the crate, because this crate must not need the interpreter's parser.

use std::collections::BTreeMap;

use testkit::cargo::cargo;

use crate::rounds::Samples;
use crate::section::{Section, Unit};
use crate::subject::Subject;

const CACHED: &str = "a decision that arguments do not matter to";
const BY_CLIENT: &str = "a decision by the name of the client";
const BY_ARGUMENTS: &str = "a decision by arguments";

/// What the example measures: its name there, and in the report.
const MEASURED: [(&str, &str); 5] = [
    ("load", "parse and check 1,000 policies"),
    ("first", "the first decision about a tool for a user"),
    ("cached", CACHED),
    ("by_client", BY_CLIENT),
    ("by_arguments", BY_ARGUMENTS),
];

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let mut example = cargo("run");
    example.args(["--quiet", "--release", "-p", "onecall-policy", "--example", "decisions", "--"]);
    example.arg(subject.rounds(15).to_string());
    let ended = example.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).into_owned());
    }
    let mut measured: BTreeMap<String, Vec<f64>> =
        serde_json::from_slice(&ended.stdout).map_err(|error| error.to_string())?;
    let mut section = Section::new("1,000 policies and 10,000 tools");
    for (name, shown) in MEASURED {
        let samples: Samples = measured.remove(name).unwrap_or_default().into();
        section.add(shown, Unit::Seconds, samples);
    }
    for name in [CACHED, BY_CLIENT, BY_ARGUMENTS] {
        section.promise_at_most(name, name, 20e-6);
    }
    section.note("64 users in 10 groups; 100 servers with 100 tools each.");
    Ok(section)
}
