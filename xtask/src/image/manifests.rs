//! Checks `deploy/compose.yaml` and `deploy/kubernetes.yaml` against the schemas of the programs that read them.

use std::process::Command;

use testkit::cargo;
use testkit::packages::venv;

/// The oldest and the newest version of Kubernetes whose schema is used.
const KUBERNETES_VERSIONS: [&str; 2] = ["1.28.0", "1.37.0"];

/// Prints what is wrong with a Compose file, and fails if anything is. The package with the schema is only read:
/// it needs other versions of its dependencies.
const CHECK_COMPOSE: &str = "\
import importlib.util, json, pathlib, sys, jsonschema, yaml
package = pathlib.Path(importlib.util.find_spec('compose').origin).parent
schema = json.loads((package / 'config/compose_spec.json').read_text())
content = yaml.safe_load(open(sys.argv[1]))
errors = [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(content)]
sys.exit('; '.join(errors) or None)
";

/// Checks both files, and says so if what is needed for that cannot be installed.
pub(super) fn check() -> Result<(), String> {
    let environment = match venv::install("deploy") {
        Ok(environment) => environment,
        Err(error) => {
            println!("skipped: the files of deploy are not checked against schemas: {error}");
            return Ok(());
        }
    };
    let file = |name: &str| cargo::root().join("deploy").join(name);
    let mut compose = Command::new(environment.join("bin/python"));
    compose.args(["-c", CHECK_COMPOSE]).arg(file("compose.yaml"));
    run("compose.yaml fits the Compose specification", compose)?;
    for version in KUBERNETES_VERSIONS {
        let mut validate = Command::new(environment.join("bin/kubernetes-validate"));
        validate.args(["--strict", "--quiet", "--kubernetes-version", version]);
        validate.arg(file("kubernetes.yaml"));
        run(&format!("kubernetes.yaml fits the schemas of Kubernetes {version}"), validate)?;
    }
    Ok(())
}

fn run(what: &str, mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    let printed = [output.stdout, output.stderr].concat();
    super::report(what, output.status.success())
        .map_err(|error| format!("{error}\n{}", String::from_utf8_lossy(&printed)))
}
