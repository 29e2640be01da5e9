//! Reports the version of onecall and the system that it runs on.

use super::finding::{Finding, ReportSection};

pub(super) fn check() -> ReportSection {
    let version = env!("CARGO_PKG_VERSION");
    let (profile, target, commit) =
        (env!("ONECALL_PROFILE"), env!("ONECALL_TARGET"), env!("ONECALL_COMMIT"));
    let commit = Some(commit).filter(|commit| !commit.is_empty());
    let onecall = match commit {
        Some(commit) => format!("{version}, commit {commit}, {target}"),
        None => format!("{version}, a {profile} build, {target}"),
    };
    let onecall = Finding::green("onecall", onecall)
        .fact("version", version)
        .fact("commit", commit)
        .fact("profile", profile)
        .fact("target", target);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let kernel = match release {
        _ if !cfg!(target_os = "linux") => {
            let system = std::env::consts::OS;
            Finding::yellow("kernel", format!("{system}, on which onecall has no sandbox"))
                .fix("run onecall in WSL 2, in a Linux container or on a Linux machine")
        }
        "" => Finding::yellow("kernel", "onecall cannot read the version of the kernel from /proc")
            .fix("mount /proc; the sandbox needs it"),
        release => Finding::green("kernel", format!("Linux {release}")),
    };
    ReportSection { name: "versions", findings: vec![onecall, kernel.fact("release", release)] }
}
