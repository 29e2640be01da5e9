//! Checks what a gateway for several people depends on: the identity provider, the policies, and the key
//! of the users' secrets.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use onecall_config::{Config, ProcessContext, StoreLocation, UsersConfig};
use onecall_core::text::shell_word;
use onecall_gateway::check_issuer;
use onecall_login::{KEY_VARIABLE, key_file_path};
use onecall_policy::PolicySource;
use onecall_store::{inspect, inspect_database};

use super::finding::{Finding, ReportSection};
use crate::commands::editable_config::counted;
use crate::store;

pub(super) async fn check(config: &Config) -> ReportSection {
    let mut findings = Vec::new();
    if let Some(users) = &config.users {
        findings.push(people(config));
        findings.push(provider(users).await);
        findings.push(key());
    }
    findings.extend(config.policy.as_deref().map(policies));
    ReportSection { name: "users", findings }
}

/// Who may log in. The store is neither created nor upgraded for that.
fn people(config: &Config) -> Finding {
    let is_current = match store::location(config) {
        Some(StoreLocation::File(path)) => {
            inspect(&path).map(|it| it.is_some_and(|it| it.version == it.newest))
        }
        Some(StoreLocation::Database(url)) => {
            inspect_database(&url).map(|it| it.version == Some(it.newest))
        }
        None => Ok(false),
    };
    let known = match (is_current, store::open_existing(config)) {
        (Ok(true), Some(store)) => store.users(),
        // The section about the store says what is wrong with it.
        (Err(_), _) => return Finding::yellow("people", "not known, because of the store"),
        _ => Ok(Vec::new()),
    };
    match known {
        Ok(users) => {
            let active = users.iter().filter(|user| user.removed.is_none()).count();
            let finding = Finding::green("people", counted(active, "user")).fact("users", active);
            match active {
                0 => finding.note("`onecall users add NAME` adds one"),
                _ => finding,
            }
        }
        Err(error) => Finding::red("people", format!("users cannot be read: {error}")),
    }
}

async fn provider(users: &UsersConfig) -> Finding {
    let Some(oidc) = &users.oidc else {
        return Finding::green("provider", "none: people log in with personal tokens");
    };
    let started = Instant::now();
    let finding = match check_issuer(&oidc.issuer).await {
        Ok(()) => Finding::green("provider", format!("{} answers with its keys", oidc.issuer)),
        Err(problem) => {
            Finding::red("provider", format!("{} cannot be used: {problem}", oidc.issuer))
                .note("who is logged in stays so while the keys are known; nobody else comes in")
                .fix("check `issuer` under `oidc`, and that this machine reaches the provider")
        }
    };
    finding.took(started.elapsed()).fact("issuer", oidc.issuer.as_str())
}

/// The key that encrypts secrets and logins of users.
fn key() -> Finding {
    if std::env::var_os(KEY_VARIABLE).is_some() {
        return Finding::green("key", format!("in {KEY_VARIABLE}"));
    }
    let Some(path) = key_file_path(&ProcessContext::current().directories) else {
        return Finding::yellow("key", "onecall cannot find your state directory")
            .fix(format!("set HOME, XDG_STATE_HOME or {KEY_VARIABLE}"));
    };
    let shown = path.display().to_string();
    match path.metadata() {
        Err(_) => Finding::green("key", format!("{shown}, created with the first secret")),
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            Finding::red("key", format!("{shown} can be read by others"))
                .fix(format!("run `chmod 600 {}`", shell_word(&shown)))
        }
        Ok(_) => {
            Finding::green("key", shown).note("keep a copy of it apart from copies of the store")
        }
    }
}

fn policies(path: &Path) -> Finding {
    let shown = path.display();
    match PolicySource::load(path) {
        Ok(source) if source.is_empty() => {
            Finding::yellow("policy", format!("{shown} has no policies, so every call is denied"))
                .fix("write a policy; the chapter about policies has examples")
        }
        Ok(source) => {
            let count = source.len();
            let noun = if count == 1 { "policy" } else { "policies" };
            Finding::green("policy", format!("{count} {noun} in {shown}"))
                .note("`onecall policy check` compares them with the tools of all servers")
        }
        Err(errors) => {
            let finding = Finding::red("policy", format!("{shown} cannot be used"));
            let finding = errors
                .problems
                .iter()
                .fold(finding, |finding, problem| finding.note(problem.to_string()));
            finding.fix("correct the file; `onecall policy check` checks it again")
        }
    }
}
