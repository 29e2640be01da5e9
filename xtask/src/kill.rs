//! Long forms of tests: gateways that are killed, alone or as a fleet, programs that are suspended and
//! continued in a new process, and generated programs whose variables are kept in two ways.

use std::path::PathBuf;

use testkit::cargo;

use crate::test;

const KILL_HELP: &str = "\
Usage: cargo xtask kill [OPTIONS]

  --programs N  how many programs with effects are run, 200 unless told otherwise
  --waiting N   has N runs wait, kills the gateway and approves them all, too
  --seed N      where the gateway is killed, and what is approved
";

/// The variable that says how many runs wait in the test of `--waiting`.
const WAITING_RUNS: &str = "ONECALL_WAITING_RUNS";

const FLEET_HELP: &str = "\
Usage: cargo xtask fleet [OPTIONS]

  --programs N  how many programs with effects are run, 1000 unless told otherwise
  --seed N      what happens to the gateways, and what is approved
";

const USERS_HELP: &str = "\
Usage: cargo xtask users [OPTIONS]

  --users N     how many users there are, 64 unless told otherwise
  --programs N  how many programs each of them runs, 20 unless told otherwise
";

const RESUME_HELP: &str = "\
Usage: cargo xtask resume-corpus [OPTIONS]

  --only TEXT  only programs whose names contain this text
  --seed N     at which call each program is suspended
";

const FAST_NAMES_HELP: &str = "\
Usage: cargo xtask fast-names [OPTIONS]

  --programs N  how many programs are generated, 10000 unless told otherwise
  --seed N      which programs
";

/// Kills the gateway at random points while programs have effects on a server that counts them.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = [
        ("--programs", "ONECALL_KILL_PROGRAMS"),
        ("--waiting", WAITING_RUNS),
        ("--seed", "ONECALL_KILL_SEED"),
    ];
    let Some(mut variables) = parse(arguments, &options, KILL_HELP)? else { return Ok(()) };
    let is_given = |wanted: &str| variables.iter().any(|(name, _)| *name == wanted);
    let waits = is_given(WAITING_RUNS);
    if !is_given("ONECALL_KILL_PROGRAMS") {
        variables.push(("ONECALL_KILL_PROGRAMS", "200".into()));
    }
    run_tests("durable::kill::", &variables)?;
    if waits { run_tests("durable::many_waiting::", &variables) } else { Ok(()) }
}

/// Kills, stops and cuts off three gateways while programs have effects on a server that counts them.
pub fn fleet(arguments: &[String]) -> Result<(), String> {
    let options = [("--programs", "ONECALL_FLEET_PROGRAMS"), ("--seed", "ONECALL_FLEET_SEED")];
    let Some(mut variables) = parse(arguments, &options, FLEET_HELP)? else { return Ok(()) };
    if testkit::postgres::binaries().is_none() {
        return Err("PostgreSQL is not installed, which the gateways share".to_owned());
    }
    if !variables.iter().any(|(name, _)| *name == "ONECALL_FLEET_PROGRAMS") {
        variables.push(("ONECALL_FLEET_PROGRAMS", "1000".into()));
    }
    run_tests("fleet::chaos::", &variables)
}

/// Has many users run programs at once, and checks that nothing of one reaches another.
pub fn users(arguments: &[String]) -> Result<(), String> {
    let options = [("--users", "ONECALL_USERS"), ("--programs", "ONECALL_USERS_PROGRAMS")];
    let Some(mut variables) = parse(arguments, &options, USERS_HELP)? else { return Ok(()) };
    for (name, otherwise) in [("ONECALL_USERS", "64"), ("ONECALL_USERS_PROGRAMS", "20")] {
        if !variables.iter().any(|(given, _)| *given == name) {
            variables.push((name, otherwise.into()));
        }
    }
    run_tests("users::isolation::", &variables)
}

/// Suspends every program of the corpus at a random call, and continues it in a new process.
pub fn resume_corpus(arguments: &[String]) -> Result<(), String> {
    let options = [("--only", "ONECALL_RESUME_ONLY"), ("--seed", "ONECALL_RESUME_SEED")];
    let Some(mut variables) = parse(arguments, &options, RESUME_HELP)? else { return Ok(()) };
    variables.push(("ONECALL_RESUME_ALL", "1".into()));
    run_tests("durable::corpus::", &variables)
}

/// Runs generated programs with variables in their modules and as local variables, and compares.
pub fn fast_names(arguments: &[String]) -> Result<(), String> {
    let options =
        [("--programs", "ONECALL_FAST_NAMES_PROGRAMS"), ("--seed", "ONECALL_FAST_NAMES_SEED")];
    let Some(mut variables) = parse(arguments, &options, FAST_NAMES_HELP)? else { return Ok(()) };
    if !variables.iter().any(|(name, _)| *name == "ONECALL_FAST_NAMES_PROGRAMS") {
        variables.push(("ONECALL_FAST_NAMES_PROGRAMS", "10000".into()));
    }
    run_tests("fast_names::", &variables)
}

fn run_tests(module: &str, variables: &[(&str, PathBuf)]) -> Result<(), String> {
    cargo::build_binaries()?;
    test::run_modules(&[module], &["--nocapture".to_owned()], variables)
}

/// The variables by which the tests are given the options; `None` if help was asked for.
fn parse(
    arguments: &[String],
    options: &[(&str, &'static str)],
    help: &str,
) -> Result<Option<Vec<(&'static str, PathBuf)>>, String> {
    let mut variables = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(flag) = arguments.next() {
        if flag == "--help" || flag == "-h" {
            eprint!("{help}");
            return Ok(None);
        }
        let Some((_, variable)) = options.iter().find(|(name, _)| name == flag) else {
            return Err(format!("unknown option '{flag}'\n\n{help}"));
        };
        let value = arguments.next().ok_or_else(|| format!("{flag} needs a value\n\n{help}"))?;
        variables.push((*variable, value.into()));
    }
    Ok(Some(variables))
}
