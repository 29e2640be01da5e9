//! Decides about values that look like secrets when servers are imported from clients: they stay in
//! the configuration, are stored as the user's secrets, or are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use onecall_clients::{DiscoveredServer, variable_name};
use onecall_config::{Environment, ProcessContext, Secrets};

use crate::commands::{note, pin, say, secrets};
use crate::terminal;

/// What `onecall init` and `onecall import` take about secrets.
#[derive(Args, Debug)]
pub(crate) struct SecretsArguments {
    /// Store values that look like secrets as `onecall secrets set` does, and refer to them
    #[arg(long, conflicts_with = "copy_secrets")]
    keep_secrets: bool,
    /// Copy values that look like secrets into the configuration
    #[arg(long)]
    copy_secrets: bool,
}

/// How to decide about secrets if no option does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretDecision {
    /// Ask the user at the terminal.
    AskUser,
    /// There is no one to ask, so no secret is stored anywhere.
    LeaveOut,
}

/// A secret that the configuration refers to.
struct Reference {
    variable: String,
    value: String,
    /// Where it was found, as text for a person.
    place: String,
}

/// Decides what happens to the secrets of `chosen`, and replaces them by references unless they are
/// copied into the configuration at `own`. Returns whether they are copied.
pub(super) fn decide_secrets(
    chosen: &mut [DiscoveredServer],
    own: &Path,
    arguments: &SecretsArguments,
    decision: SecretDecision,
) -> anyhow::Result<bool> {
    if chosen.iter().all(|found| found.server.secrets().is_empty()) {
        return Ok(false);
    }
    if arguments.copy_secrets {
        return Ok(true);
    }
    let file = secrets::file()?;
    let known = file.read()?;
    let keeps =
        arguments.keep_secrets || decision == SecretDecision::AskUser && ask_to_store(chosen)?;
    let references = replace_by_references(chosen, keeps.then_some(&known));
    if keeps {
        file.change(|secrets| {
            references.iter().try_for_each(|it| secrets.set(&it.variable, &it.value))
        })?;
    }
    let path = file.path().display();
    note(&terminal::neutralise(&match keeps {
        true => format!(
            "Stored these secrets in {path}, which only you can read:\n{}",
            listed(&references)
        ),
        false => left_out(&references, own, &known),
    }));
    Ok(false)
}

fn ask_to_store(chosen: &[DiscoveredServer]) -> anyhow::Result<bool> {
    let mut places = String::new();
    for found in chosen {
        for secret in found.server.secrets() {
            _ = writeln!(places, "  {}: {}", found.server.name, secret.location);
        }
    }
    say(&format!("These values look like secrets:\n{}", terminal::neutralise(places.trim_end())));
    pin::confirm_by_default(
        "Store them as onecall's secrets, in a file that only you can read? (n: set them yourself)",
    )
}

/// Replaces every secret by a reference. Secrets with different values get different names; the
/// names must also differ from those in `kept`, if the secrets will be stored there.
fn replace_by_references(
    chosen: &mut [DiscoveredServer],
    kept: Option<&Secrets>,
) -> Vec<Reference> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut references = Vec::new();
    for found in chosen {
        let server = &mut found.server;
        let mut secrets = server.secrets();
        for secret in &mut secrets {
            let value = server.secret_value(secret).to_owned();
            let is_free = |name: &String| {
                let variables = |name: &str| std::env::var(name).ok();
                let stored = kept.and_then(|kept| {
                    // An environment variable of this name would take precedence over the secret.
                    variables(name).or_else(|| Some(kept.get(name)?.reveal().to_owned()))
                });
                values.get(name).or(stored.as_ref()).is_none_or(|known| *known == value)
            };
            let longer = variable_name(&format!("{}_{}", server.name, secret.variable));
            let numbered = (2..).map(|number| format!("{longer}_{number}"));
            let names = [secret.variable.clone(), longer.clone()].into_iter().chain(numbered);
            secret.variable = names.into_iter().find(is_free).unwrap_or(longer);
            let variable = secret.variable.clone();
            if values.insert(variable.clone(), value.clone()).is_none() {
                let from = found.origins.first().map(|origin| origin.path.display().to_string());
                let from = from.unwrap_or_default();
                let place = format!("{} of '{}', from {from}", secret.location, server.name);
                references.push(Reference { variable, value, place });
            }
        }
        server.replace_secrets(&secrets);
    }
    references
}

fn listed(references: &[Reference]) -> String {
    let lines: Vec<String> =
        references.iter().map(|it| format!("  {}: {}", it.variable, it.place)).collect();
    lines.join("\n")
}

/// Explains which secrets the configuration at `own` lacks, and the ways to provide them.
fn left_out(references: &[Reference], own: &Path, known: &Secrets) -> String {
    let context = ProcessContext::current();
    let environment = Environment::new(context.environment).with_secrets(known);
    let mut text = format!(
        "Left secrets out of {}, which refers to variables instead (--keep-secrets stores them). Give \
         each variable a value:\n",
        own.display()
    );
    for Reference { variable, place, .. } in references {
        let way = match environment.has(variable) {
            true => "it has a value already".to_owned(),
            false => format!("onecall secrets set {variable}"),
        };
        _ = writeln!(text, "  {variable}: {place}\n    {way}");
    }
    text.push_str("or set them in the environment of the client that starts onecall");
    text
}
