//! The commands of this repository: `cargo xtask demo | test | interop | browser | side-by-side |
//! conformance | containers | container-profile | image | fuzz | bench | soak | kill | fleet | users |
//! resume-corpus | fast-names | tokens | quality | deny | licences | messages | sbom | dist`.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a developer reads what this says")]

mod client;
mod conformance;
mod container_profile;
mod containers;
mod demo;
mod deny;
mod dependencies;
mod dist;
mod fuzz;
mod image;
mod interop;
mod kill;
mod licences;
mod messages;
mod quality;
mod sbom;
mod side_by_side;
mod soak;
mod test;
mod tokens;
#[cfg(test)]
mod workflows;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask <COMMAND>

  demo               build onecall and show its main job on built-in data
  test               run the whole test suite, formatting and lints aside
  interop            run the part of it that needs published MCP servers and clients
  browser            open every page in a browser, look for barriers, and write pictures to target
  side-by-side       run the part of it that compares programs with an in-process server (see --help)
  conformance        run the part of it that is the MCP conformance suite, against both of our sides
  containers         run every attack in emulations of a container, as root and as an ordinary user
  container-profile  write packaging/container/seccomp.json
  image              make the image of deploy/Dockerfile without a container engine, and check it
  fuzz               look for input that breaks a property, for ten minutes (see fuzz --help)
  bench              measure onecall against bare calls and its peers, in one run (see bench --help)
  soak               load it for minutes while things break, and say what broke (see soak --help)
  kill               kill the gateway while programs have effects, and count those (see kill --help)
  fleet              kill, stop and cut off three gateways meanwhile (see fleet --help)
  users              run programs of many users at once, and check that nothing of one reaches another
  resume-corpus      suspend every test program at a random call and continue it in a new process
  fast-names         compare generated programs with variables kept in two ways (see fast-names --help)
  tokens             count what a model reads with direct calls and with onecall (see tokens --help)
  quality            count what of others' tasks, programs and tests works (see quality --help)
  deny               check licences, sources and known vulnerabilities of the dependencies (deny.toml)
  licences           write the licences of everything in the binary to THIRD-PARTY.txt
  messages           write every text that people and models are shown to tests/messages.txt
  sbom               write what is in the binary as a CycloneDX bill of materials
  dist               build and pack what is handed out: .deb, wheel, npm, .tar.gz (see dist --help)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("--help", &[][..]),
    };
    let result = match command {
        "demo" => demo::run(),
        "test" => test::run(rest),
        "interop" => interop::run(rest),
        "browser" => interop::browser(rest),
        "side-by-side" => side_by_side::run(rest),
        "conformance" => test::conformance(),
        "conformance-client" => conformance::client(rest),
        "containers" => containers::run(rest),
        "container-profile" => container_profile::run(),
        "image" => image::run(rest),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "soak" => soak::run(rest),
        "kill" => kill::run(rest),
        "fleet" => kill::fleet(rest),
        "users" => kill::users(rest),
        "resume-corpus" => kill::resume_corpus(rest),
        "fast-names" => kill::fast_names(rest),
        "tokens" => tokens::run(rest),
        "quality" => quality::run(rest),
        "deny" => deny::run(rest),
        "licences" => licences::run(rest),
        "messages" => messages::run(rest),
        "sbom" => sbom::run(rest),
        "dist" => dist::run(rest),
        "--help" | "-h" | "help" => {
            eprint!("{HELP}");
            Ok(())
        }
        unknown => Err(format!("unknown command '{unknown}'\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
