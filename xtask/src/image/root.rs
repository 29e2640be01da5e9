//! Makes the root of the image: Debian by debootstrap, then the instructions of the Dockerfile one by one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::cargo;

use super::dockerfile::{ImageRecipe, Instruction};

/// Runs a command in a root, as process 1 of its own, with `/proc`.
const IN_ROOT: &str = r#"mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -e -c "$1""#;

/// What the instructions say about processes of the image.
#[derive(Clone, Debug, Default)]
pub(super) struct ImageSettings {
    pub(super) user: String,
    pub(super) folder: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) volume: String,
    pub(super) healthcheck: Vec<String>,
    pub(super) entrypoint: Vec<String>,
    pub(super) command: Vec<String>,
}

/// The release of Debian that an image such as `debian:bookworm-slim` has.
fn release(base: &str) -> Result<&str, String> {
    let tag = base.strip_prefix("debian:");
    tag.map(|tag| tag.trim_end_matches("-slim"))
        .ok_or_else(|| format!("the image is based on {base}, which debootstrap does not make"))
}

/// Makes the root in `folder`, with `binary` as the program that the build stage makes.
pub(super) fn build(
    recipe: &ImageRecipe,
    folder: &Path,
    binary: &Path,
) -> Result<ImageSettings, String> {
    let release = release(&recipe.base)?;
    let base = folder.join(release);
    if !base.join("usr").exists() {
        println!("debootstrap {release}");
        let partial = folder.join("partial");
        remove(&partial)?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", release]).arg(&partial);
        quietly(&mut debootstrap)?;
        fs::rename(&partial, &base).map_err(|error| format!("{}: {error}", base.display()))?;
    }
    let root = folder.join("root");
    remove(&root)?;
    let mut copy = Command::new("cp");
    quietly(copy.arg("--archive").arg(&base).arg(&root))?;
    let mut settings = ImageSettings::default();
    for instruction in &recipe.instructions {
        apply(instruction, &root, folder, binary, &mut settings)?;
    }
    Ok(settings)
}

fn apply(
    instruction: &Instruction,
    root: &Path,
    folder: &Path,
    binary: &Path,
    settings: &mut ImageSettings,
) -> Result<(), String> {
    match instruction {
        Instruction::Run(command) => {
            println!("RUN {command}");
            let mut run = Command::new("unshare");
            run.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", IN_ROOT]);
            run.arg(root).arg(command).env_clear();
            run.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
            run.env("DEBIAN_FRONTEND", "noninteractive");
            quietly(&mut run)?;
        }
        Instruction::Copy { sources, target } => {
            for source in sources {
                println!("COPY {source} {target}");
                copy_built(source, target, root, folder, binary)?;
            }
        }
        Instruction::User(user) => settings.user.clone_from(user),
        Instruction::Workdir(folder) => settings.folder.clone_from(folder),
        Instruction::Env(pairs) => settings.environment.extend(pairs.iter().cloned()),
        Instruction::Volume(path) => settings.volume.clone_from(path),
        Instruction::Healthcheck(words) => settings.healthcheck.clone_from(words),
        Instruction::Entrypoint(words) => settings.entrypoint.clone_from(words),
        Instruction::Cmd(words) => settings.command.clone_from(words),
    }
    Ok(())
}

/// Copies a file that the build stage has: the binary, the bill of materials, or a file of the repository.
fn copy_built(
    source: &str,
    target: &str,
    root: &Path,
    folder: &Path,
    binary: &Path,
) -> Result<(), String> {
    let name = source.strip_prefix("/src/").ok_or_else(|| format!("{source} is not in /src"))?;
    let from = match name {
        "target/dist/onecall" => binary.to_owned(),
        "onecall.cdx.json" => {
            let bill = folder.join("onecall.cdx.json");
            crate::sbom::run(&[bill.display().to_string()])?;
            bill
        }
        name => cargo::root().join(name),
    };
    let mut to: PathBuf = root.join(target.trim_start_matches('/'));
    if target.ends_with('/') {
        to.push(Path::new(name).file_name().unwrap_or_default());
    }
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    let copied = made.and_then(|()| fs::copy(&from, &to));
    copied.map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// Runs a command; its output is in the error if it fails.
pub(super) fn quietly(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => {
            let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
            Err(format!("{shown} has failed ({}):\n{stdout}{stderr}", output.status))
        }
    }
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}
