//! Checks the wheel: installs it with pip and with uv, without an index.

use std::path::{Path, PathBuf};

use testkit::cargo::root;
use testkit::packages::venv;

use super::install_folder::{InstallFolder, finish, has};
use super::session::{self, Signals};

/// Fails unless the record of the wheel has the correct hash and size of each file.
const COMPARE: &str = r#"
import base64, csv, hashlib, io, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
assert wheel.testzip() is None
[record] = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")]
rows = {name: rest for name, *rest in csv.reader(io.StringIO(wheel.read(record).decode()))}
assert sorted(rows) == sorted(wheel.namelist()), rows
for name, (hash, size) in rows.items():
    if name != record:
        data = wheel.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert (hash, size) == ("sha256=" + digest, str(len(data))), name
"#;

/// Prints the path of the onecall that the Python client starts.
const FIND: &str = "from onecall_client.binary import find_binary; print(find_binary())";

pub fn check(wheel: &Path, version: &str) -> Result<(), String> {
    if !has("python3") {
        eprintln!("skipped: no python3 here, so no test of the wheel");
        return Ok(());
    }
    let folder = InstallFolder::new()?;
    let environment = folder.path("environment");
    let mut make = folder.installer("python3".as_ref());
    make.args(["-m", "venv"]).arg(&environment);
    finish(make)?;
    let python = environment.join("bin/python");
    let mut compare = folder.command(&python);
    compare.args(["-c", COMPARE]).arg(wheel);
    finish(compare)?;
    let mut pip = folder.command(&python);
    pip.args(["-m", "pip", "install", "--no-index", "--disable-pip-version-check"]).arg(wheel);
    finish(pip)?;
    let onecall = environment.join("bin/onecall");
    session::check("the wheel, as pip installs it", version, Signals::ReachOnecall, |arguments| {
        let mut command = folder.command(&onecall);
        command.args(arguments);
        command
    })?;
    let mut find = folder.command(&python);
    find.args(["-c", FIND]).env("PYTHONPATH", root().join("clients/python/src"));
    let found = finish(find)?;
    if Path::new(found.trim()) != onecall {
        return Err(format!("beside the wheel, the Python client starts {found}"));
    }
    match venv::install_from("uv", &root().join("packaging/dist/uv.txt")) {
        Ok(uv) => with_uv(&uv.join("bin/uv"), wheel, version),
        Err(why) => {
            eprintln!("skipped: no test of the wheel as uv runs it: {why}");
            Ok(())
        }
    }
}

/// Runs the wheel as `uvx` does.
fn with_uv(uv: &Path, wheel: &Path, version: &str) -> Result<(), String> {
    let folder = InstallFolder::new()?;
    let python = python()?;
    session::check("the wheel, as uvx runs it", version, Signals::ReachOnecall, |arguments| {
        let mut command = folder.command(uv);
        command.args(["tool", "run", "--quiet", "--offline", "--no-index", "--no-config"]);
        command.arg("--python").arg(&python).arg("--from").arg(wheel).arg("onecall");
        command.args(arguments);
        command
    })
}

/// The path of the Python that is on `PATH`.
fn python() -> Result<PathBuf, String> {
    let mut python = std::process::Command::new("python3");
    python.args(["-c", "import sys; print(sys.executable)"]);
    Ok(finish(python)?.trim().into())
}
