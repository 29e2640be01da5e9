//! `cargo xtask image`: makes the image of `deploy/Dockerfile` without a container engine, by running its
//! instructions one by one in a root of debootstrap, and checks it under the restrictions of a container.

mod balancer;
mod container;
mod dockerfile;
mod manifests;
mod root;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use testkit::{bins, cargo};

use self::container::Container;
use self::root::ImageSettings;

const HELP: &str = "\
Usage: cargo xtask image [--binary FILE]

Checks compose.yaml and kubernetes.yaml of deploy against the schemas of Compose and Kubernetes, and nginx.conf
with nginx, if that is installed, in front of servers that die and refuse. Then it runs the instructions of the
default stage of deploy/Dockerfile, except the build itself, in a root that debootstrap makes below target/image,
and then the image as compose.yaml does: read-only root, user 10001, no capabilities, Docker's seccomp profile,
namespaces of its own. --binary names the onecall to put in; by default one is built. Needs root, debootstrap and
the network.
";

/// Makes and checks the image.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let binary = match arguments {
        [] => None,
        [option, file] if option == "--binary" => Some(PathBuf::from(file)),
        [option] if option == "--help" => {
            print!("{HELP}");
            return Ok(());
        }
        _ => return Err(HELP.to_owned()),
    };
    manifests::check()?;
    balancer::check()?;
    if let Some(missing) = missing() {
        println!("skipped: {missing}; neither the image nor its commands are tested");
        return Ok(());
    }
    let binary = match binary {
        Some(binary) => binary,
        None => {
            cargo::build_binaries()?;
            bins::onecall()
        }
    };
    let folder = cargo::root().join("target/image");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = cargo::root().join("deploy/Dockerfile");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let settings = root::build(&dockerfile::read(&text)?, &folder, &binary)?;
    println!("not run: the stage that builds the binary, and the image with Python and Node.js");
    let mut container = Container::start(&settings, &folder)?;
    let checked = check(&mut container, &settings);
    if let Err(error) = checked {
        let written = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
        return Err(format!("{error}\n{}{written}", container.stdout()));
    }
    let ended = container.stop()?;
    report("SIGTERM to process 1 ends it with code 0", ended.code() == Some(0))
}

/// What is missing to make an image.
fn missing() -> Option<&'static str> {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !is_root {
        return Some("only root can make the root of an image");
    }
    if !has("debootstrap") {
        return Some("debootstrap is not installed");
    }
    let has_tools = has("unshare") && has("nsenter") && has("ip");
    (!has_tools).then_some("unshare, nsenter or ip is not installed")
}

/// Whether a program is installed.
fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn check(container: &mut Container<'_>, settings: &ImageSettings) -> Result<(), String> {
    let words: Vec<&str> = settings.healthcheck.iter().map(String::as_str).collect();
    container.wait_for("the HEALTHCHECK succeeds", |it| it.execute(&words).is_ok())?;
    report("the HEALTHCHECK succeeds", true)?;
    let status = |name: &str| container.status_of_init(name);
    let user = settings.user.split(':').next().unwrap_or_default();
    report("process 1 is the entry point, as the user of the image", status("Uid") == user)?;
    let none = "0".repeat(16);
    let has_none = ["CapEff", "CapPrm", "CapBnd"].iter().all(|set| status(set) == none);
    report("it has no capabilities, and can get none", has_none && status("NoNewPrivs") == "1")?;
    report("it is under a seccomp filter", status("Seccomp") == "2")?;
    let writes = |path: &str| container.execute(&["sh", "-c", &format!("echo > {path}/x")]).is_ok();
    let read_only = ["", "/home/onecall", "/etc/onecall", "/usr/local/bin", "/run"];
    report("the root is read-only", !read_only.iter().any(|path| writes(path)))?;
    report("the volume and /tmp can be written to", writes(&settings.volume) && writes("/tmp"))?;
    let log = container.stdout();
    let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    report("the log is JSON on stdout", !log.is_empty() && log.lines().all(is_json))?;
    let printed = container.execute(&["onecall", "run", "-e", "print(6 * 7)"])?;
    report("a program runs in its sandbox", printed == "42\n")?;
    // The shell ends at once, so that process 1 inherits what it has started.
    container.execute(&["sh", "-c", "sleep 0.1 & true"])?;
    container.wait_for("process 1 reaps an orphan", |it| {
        let sleeping = it.execute(&["sh", "-c", "cat /proc/[0-9]*/comm"]).unwrap_or_default();
        !sleeping.lines().any(|name| name == "sleep") && it.zombies() == Ok(0)
    })?;
    report("process 1 reaps an orphan", true)
}

fn report(what: &str, holds: bool) -> Result<(), String> {
    println!("{} {what}", if holds { "ok    " } else { "FAILED" });
    match holds {
        true => Ok(()),
        false => Err(format!("it does not hold that {what}")),
    }
}
