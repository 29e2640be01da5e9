//! Reads the arguments of one call in a Python program.

use onecall_core::ToolSpec;
use ruff_python_ast::{Arguments, Expr};

use super::literal::{entries, is_not_dict, partial_value};
use crate::program::call_arguments::GivenArguments;

/// The problems with the arguments of a call.
#[derive(Default)]
pub(super) struct ArgumentProblems {
    /// Problems that raise an error as soon as the call is evaluated, even without `await`.
    pub(super) immediate: Vec<String>,
    /// Problems that the server rejects when the call is awaited.
    pub(super) when_awaited: Vec<String>,
}

/// The certain problems with the arguments of a call to `spec`.
pub(super) fn problems(spec: &ToolSpec, arguments: &Arguments) -> ArgumentProblems {
    let mut reader = ArgumentReader::default();
    reader.take_positional(spec, &arguments.args);
    reader.take_keywords(arguments);
    ArgumentProblems { immediate: reader.rejected, when_awaited: reader.given.problems(spec) }
}

/// Interprets arguments as the worker will.
#[derive(Default)]
struct ArgumentReader {
    given: GivenArguments,
    rejected: Vec<String>,
}

impl ArgumentReader {
    fn take_positional(&mut self, spec: &ToolSpec, positional: &[Expr]) {
        match positional {
            [] => {}
            [Expr::Dict(dict)] => match entries(dict) {
                Some(entries) => self.given.entries = entries,
                None => self.given.complete = false,
            },
            [only] if !is_not_dict(only) => self.given.complete = false,
            several if several.iter().any(Expr::is_starred_expr) => self.given.complete = false,
            several => {
                let parameters = spec.parameters();
                if several.len() > parameters.len() {
                    self.rejected.push(format!(
                        "it takes {} positional arguments but {} were given",
                        parameters.len(),
                        several.len()
                    ));
                }
                let names = parameters.into_iter();
                self.given.entries = names.zip(several.iter().map(partial_value)).collect();
            }
        }
    }

    fn take_keywords(&mut self, arguments: &Arguments) {
        let is_dict = matches!(&*arguments.args, [Expr::Dict(_)]);
        let given = &mut self.given;
        for keyword in &arguments.keywords {
            let Some(name) = &keyword.arg else {
                given.complete = false;
                continue;
            };
            let taken = given.entries.iter().position(|(taken, _)| taken == name.as_str());
            match taken.and_then(|position| given.entries.get_mut(position)) {
                Some(entry) if is_dict => entry.1 = partial_value(&keyword.value),
                Some(_) => self.rejected.push(format!("it got multiple values for '{name}'")),
                None => given.entries.push((name.to_string(), partial_value(&keyword.value))),
            }
        }
        // Entries from `**` may override those of a positional dict.
        if is_dict && !given.complete {
            let is_keyword = |name: &str| arguments.find_keyword(name).is_some();
            given.entries.retain(|(name, _)| is_keyword(name));
        }
    }
}
