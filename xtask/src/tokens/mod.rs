//! Counts the tokens that a task costs a model, with direct calls and with onecall. Both are
//! executed for real, through MCP, and must have the same answer.

mod agent;
mod catalog;
mod conversation;
mod direct;
mod figures;
mod options;
mod publish;
mod table;
mod workflows;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::cargo::{self, cargo, output};

use agent::OnecallAgent;
use catalog::{AgentKind, Catalog, RunPaths};
use direct::DirectAgent;
use figures::{Figures, Prices, Traffic};
use options::{HELP, Options};
use workflows::{WORKFLOWS, Workflow};

/// The number of tools that most users have.
const TYPICAL_TOOLS: usize = 30;

/// The numbers of calls at once for models that make single calls, and for those that make many.
const OTHER_TURNS: [usize; 2] = [1, 10];

/// Builds, runs both agents, and prints the results as Markdown.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let names: Vec<&str> = WORKFLOWS.iter().map(|workflow| workflow.name).collect();
    let options = Options::parse(arguments, &names)?;
    if options.help {
        eprint!("{HELP}\nWorkflows: {}\n", names.join(", "));
        return Ok(());
    }
    if options.publish {
        publish::require_committed()?;
    }
    if !options.no_build {
        let mut build = cargo("build");
        build.args(["--workspace", "--bins"]);
        cargo::run(build)?;
    }
    let built = output("debug");
    let folder = built.parent().unwrap_or(&built).join("tokens");
    let paths = create_paths(built.join("onecall"), built.join("workplace-server"), &folder)?;
    let count = |tools: usize, calls_per_turn: usize| {
        let wanted = WORKFLOWS.iter().filter(|workflow| options.wants(workflow.name));
        wanted
            .map(|workflow| {
                eprintln!("{tools:>3} tools, {calls_per_turn:>2} calls at once: {}", workflow.name);
                measure(workflow, tools, calls_per_turn, &paths)
            })
            .collect::<Result<Vec<Figures>, String>>()
    };
    let mut figures = Vec::new();
    for &tools in &options.tools {
        figures.extend(count(tools, options.calls_per_turn)?);
    }
    let mut others = Vec::new();
    if options.is_default() {
        for calls_per_turn in OTHER_TURNS {
            others.extend(count(TYPICAL_TOOLS, calls_per_turn)?);
        }
    }
    let (stamp, prices) = (publish::stamp(), options.prices);
    let tables = table::render(&figures, &others, prices);
    println!("{stamp}\n{tables}");
    if let Some(path) = &options.json {
        write_json(path, &stamp, figures.iter().chain(&others), prices)?;
    }
    if options.publish {
        publish::replace("docs/tokens.md", &stamp, &tables)?;
        publish::replace("README.md", &stamp, &table::render_totals(&figures, prices))?;
    }
    Ok(())
}

fn create_paths(onecall: PathBuf, server: PathBuf, folder: &Path) -> Result<RunPaths, String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    Ok(RunPaths { onecall, server, folder: folder.to_owned() })
}

/// Runs both agents. The clients of the testkit panic when their server dies; that becomes an error
/// like any other.
fn measure(
    workflow: &'static Workflow,
    tools: usize,
    calls_per_turn: usize,
    paths: &RunPaths,
) -> Result<Figures, String> {
    catch_unwind(AssertUnwindSafe(|| run_both_agents(workflow, tools, calls_per_turn, paths)))
        .unwrap_or_else(|_| Err("a server died; see above".to_owned()))
        .map_err(|error| format!("{} with {tools} tools: {error}", workflow.name))
}

fn run_both_agents(
    workflow: &'static Workflow,
    tools: usize,
    calls_per_turn: usize,
    paths: &RunPaths,
) -> Result<Figures, String> {
    let catalog = Catalog::of(workflow, tools)?;
    catalog.clear_journals(paths)?;
    let mut direct = DirectAgent::connect(&catalog, paths, calls_per_turn)?;
    let mut agent = OnecallAgent::connect(&catalog, paths)?;
    for (number, question) in workflow.questions.iter().enumerate() {
        direct.conversation.ask(question.text);
        let expected = (question.direct)(&mut direct)?;
        direct.conversation.answer(&expected);

        agent.conversation.ask(question.text);
        if number == 0 {
            agent.discover(workflow)?;
        }
        let mut answer = String::new();
        for program in question.programs {
            answer = agent.run(program)?;
        }
        agent.conversation.answer(&answer);
        if answer != expected {
            return Err(format!("the program answers\n{answer}\nand direct calls\n{expected}"));
        }
    }
    let (made, expected) =
        (catalog.changes(paths, AgentKind::Onecall)?, catalog.changes(paths, AgentKind::Direct)?);
    if made != expected {
        return Err(difference(&made, &expected));
    }
    for (way, conversation) in [("direct", &direct.conversation), ("onecall", &agent.conversation)]
    {
        let name = format!("{}-{tools}-{calls_per_turn}-{way}.txt", workflow.name);
        write(&paths.folder.join(name), &conversation.transcript)?;
    }
    let onecall = Traffic::new(&agent.conversation, agent.seconds);
    let direct = Traffic::new(&direct.conversation, direct.seconds);
    Ok(Figures { workflow, tools, calls_per_turn, direct, onecall })
}

fn difference(made: &[Value], expected: &[Value]) -> String {
    let only_in = |some: &[Value], others: &[Value]| {
        some.iter()
            .find(|change| !others.contains(change))
            .map_or("nothing".into(), Value::to_string)
    };
    format!(
        "the program makes {} changes and direct calls {}; only the program: {}; only direct calls: {}",
        made.len(),
        expected.len(),
        only_in(made, expected),
        only_in(expected, made),
    )
}

fn write_json<'a>(
    path: &Path,
    stamp: &str,
    figures: impl Iterator<Item = &'a Figures>,
    prices: Prices,
) -> Result<(), String> {
    let figures: Vec<Value> = figures.map(|figures| figures.to_json(prices)).collect();
    let prices = json!({ "input": prices.input, "output": prices.output, "cached": prices.cached });
    let report = json!({ "made_by": stamp, "tokenizer": "o200k_base", "dollars_per_million": prices, "figures": figures });
    write(path, &format!("{report:#}\n"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use testkit::bins;

    use super::*;
    use figures::saved;
    use workflows::DATA_HEAVY;

    fn measured(workflow: &'static Workflow, folder: &str) -> Figures {
        let (onecall, server) = (bins::onecall(), bins::find("workplace-server"));
        let folder = server.with_file_name(folder);
        create_paths(onecall, server, &folder)
            .and_then(|paths| {
                measure(workflow, TYPICAL_TOOLS, Options::default().calls_per_turn, &paths)
            })
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn both_ways_arrive_at_the_same_answer_and_data_stays_out_of_the_model() {
        let (mut direct, mut ours) = (0, 0);
        for workflow in WORKFLOWS {
            let figures = measured(workflow, "tokens-answers");
            let results = figures.direct.results;
            let is_data_heavy = results >= DATA_HEAVY;
            assert_eq!(is_data_heavy, workflow.is_data_heavy, "{}: {results}", workflow.name);
            if is_data_heavy {
                direct += figures.direct.tokens();
                ours += figures.onecall.tokens();
            }
        }
        let saved = saved(direct, ours);
        assert!(saved >= 98.0, "{ours} tokens instead of {direct} are {saved:.2}% fewer");
    }

    #[test]
    fn the_same_run_costs_the_same() {
        let count = || {
            let Figures { direct, onecall, .. } = measured(&WORKFLOWS[0], "tokens-repeated");
            (direct.requests, onecall.requests)
        };
        assert_eq!(count(), count());
    }

    #[test]
    fn a_catalog_has_the_size_that_was_asked_for() {
        for workflow in WORKFLOWS {
            for tools in Options::default().tools {
                assert_eq!(Catalog::of(workflow, tools).map(|catalog| catalog.tools), Ok(tools));
            }
        }
    }
}
