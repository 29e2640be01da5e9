//! Tests of the GitHub workflows that make releases.

use std::fs;

use saphyr::{LoadableYamlNode, YamlOwned};
use testkit::cargo::root;

use crate::dependencies::read;

/// Each workflow by its name, as text and as parsed YAML.
fn workflows() -> Vec<(String, String, YamlOwned)> {
    let folder = root().join(".github/workflows");
    let entries = fs::read_dir(folder).expect("a folder of workflows");
    let workflow = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("a workflow").path();
        let text = read(&path).expect("a text");
        let mut documents = YamlOwned::load_from_str(&text).expect("YAML");
        (path.display().to_string(), text, documents.remove(0))
    };
    let workflows: Vec<_> = entries.map(workflow).collect();
    assert!(!workflows.is_empty());
    workflows
}

/// The values of `key` anywhere in a document.
fn all<'a>(node: &'a YamlOwned, key: &str, found: &mut Vec<&'a YamlOwned>) {
    for (name, value) in node.as_mapping().into_iter().flatten() {
        if name.as_str() == Some(key) {
            found.push(value);
        }
        all(value, key, found);
    }
    for item in node.as_sequence().into_iter().flatten() {
        all(item, key, found);
    }
}

#[test]
fn every_action_is_named_by_its_commit_with_the_version_beside_it() {
    for (name, text, workflow) in workflows() {
        let mut actions = Vec::new();
        all(&workflow, "uses", &mut actions);
        for action in actions.into_iter().filter_map(YamlOwned::as_str) {
            let commit = action.split_once('@').map_or("", |(_, commit)| commit);
            let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
            assert!(is_commit, "{name}: {action}");
            let is_versioned = |line: &str| line.contains(&format!("{action} # v"));
            assert!(text.lines().any(is_versioned), "{name}: no version beside {action}");
        }
    }
}

#[test]
fn a_job_has_the_rights_that_it_names_and_no_others() {
    for (name, _, workflow) in workflows() {
        let general = workflow.as_mapping_get("permissions").and_then(YamlOwned::as_mapping);
        assert!(general.is_some_and(|rights| rights.is_empty()), "{name}: rights for all jobs");
        let jobs = workflow.as_mapping_get("jobs").and_then(YamlOwned::as_mapping).expect("jobs");
        for (job, steps) in jobs {
            assert!(steps.as_mapping_get("permissions").is_some(), "{name}: {job:?}");
        }
    }
}

#[test]
fn a_release_has_what_dist_packs_and_has_tried_out() {
    let (_, text, _) = workflows()
        .into_iter()
        .find(|(name, ..)| name.ends_with("/release.yml"))
        .expect("a release");
    for command in ["cargo xtask dist --check", "cargo xtask dist --out", "cargo xtask deny"] {
        assert!(text.contains(command), "no {command}");
    }
}
