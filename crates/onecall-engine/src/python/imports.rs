//! Finds the modules that a program imports, from its compiled code and before it runs.

use std::collections::{BTreeMap, BTreeSet};

use rustpython_vm::bytecode::{
    BorrowedConstant, CodeObject, Constant, Instruction, oparg::OpArgState,
};

use crate::missing_modules;

/// The top-level names of all modules that `code` and its functions import, and the full names of
/// other parts of the standard library that they use and this interpreter lacks.
pub(super) fn imports<C: Constant>(code: &CodeObject<C>) -> BTreeSet<String> {
    let mut scan = ImportScan::default();
    let mut rest = vec![code];
    while let Some(code) = rest.pop() {
        scan.read(code);
        rest.extend(code.constants.iter().filter_map(
            |constant| match constant.borrow_constant() {
                BorrowedConstant::Code { code } => Some(code),
                _ => None,
            },
        ));
    }
    scan.found
}

/// The value that an instruction leaves on the stack, as far as it matters.
#[derive(Default)]
enum StackTop {
    /// A module that was just imported.
    Module(String),
    /// A name that is imported from the current module.
    From(String),
    /// A module that a variable holds, or an attribute of it.
    Known(String),
    /// The only argument of a function that imports modules.
    Argument(String),
    #[default]
    Other,
}

#[derive(Default)]
struct ImportScan {
    found: BTreeSet<String>,
    /// The module, or the name in a module, that each variable of the program holds.
    variables: BTreeMap<String, String>,
}

impl ImportScan {
    fn read<C: Constant>(&mut self, code: &CodeObject<C>) {
        let mut state = OpArgState::default();
        let mut top = StackTop::Other;
        let mut importing = String::new();
        for unit in &*code.instructions {
            let (instruction, argument) = state.get(*unit);
            let number = u32::from(argument);
            let name = |index: u32| at(&code.names, index).map_or("", AsRef::as_ref);
            let local = |index: u32| at(&code.varnames, index).map_or("", AsRef::as_ref);
            top = match (instruction, top) {
                (Instruction::ImportName { .. }, _) => {
                    name(number).clone_into(&mut importing);
                    self.import(&importing);
                    StackTop::Module(importing.clone())
                }
                (Instruction::ImportFrom { .. }, _) => {
                    // The compiler uses the same instructions for `import a.b as c`.
                    let part = name(number);
                    let whole = match importing.strip_suffix(part) {
                        Some(before) if before.ends_with('.') => importing.clone(),
                        _ => format!("{importing}.{part}"),
                    };
                    self.add_if_missing(&whole);
                    StackTop::From(whole)
                }
                (Instruction::StoreName { .. } | Instruction::StoreGlobal { .. }, top) => {
                    self.store(name(number), top)
                }
                (Instruction::StoreFast { .. }, top) => self.store(local(number), top),
                (Instruction::LoadName { .. }, _) => self.load(name(number)),
                // The lowest bit is a flag.
                (Instruction::LoadGlobal { .. }, _) => self.load(name(number >> 1)),
                (Instruction::LoadFast { .. } | Instruction::LoadFastBorrow { .. }, _) => {
                    self.load(local(number))
                }
                (Instruction::LoadAttr { .. }, StackTop::Known(of)) => {
                    let whole = format!("{of}.{}", name(number >> 1));
                    self.add_if_missing(&whole);
                    StackTop::Known(whole)
                }
                (Instruction::LoadConst { .. }, StackTop::Known(function))
                    if is_import(&function) =>
                {
                    match at(&code.constants, number).map(C::borrow_constant) {
                        Some(BorrowedConstant::Str { value }) => {
                            StackTop::Argument(value.as_str().unwrap_or_default().to_owned())
                        }
                        _ => StackTop::Other,
                    }
                }
                (Instruction::Call { .. }, StackTop::Argument(module)) => {
                    self.import(&module);
                    StackTop::Other
                }
                (
                    Instruction::PushNull
                    | Instruction::Cache
                    | Instruction::ExtendedArg
                    | Instruction::Nop,
                    top,
                ) => top,
                _ => StackTop::Other,
            };
        }
    }

    fn import(&mut self, module: &str) {
        self.found.insert(module.split('.').next().unwrap_or_default().to_owned());
        self.add_if_missing(module);
    }

    fn add_if_missing(&mut self, name: &str) {
        if name.contains('.') && missing_modules::is_listed(name) {
            self.found.insert(name.to_owned());
        }
    }

    /// Notes the value that a variable has from now on.
    fn store(&mut self, variable: &str, top: StackTop) -> StackTop {
        let value = match top {
            // `import a.b` binds `a`.
            StackTop::Module(module) => module.split('.').next().unwrap_or_default().to_owned(),
            StackTop::From(name) => name,
            StackTop::Known(_) | StackTop::Argument(_) | StackTop::Other => return StackTop::Other,
        };
        self.variables.insert(variable.to_owned(), value);
        StackTop::Other
    }

    fn load(&self, variable: &str) -> StackTop {
        match self.variables.get(variable) {
            Some(value) => StackTop::Known(value.clone()),
            None if variable == "__import__" => StackTop::Known(variable.to_owned()),
            None => StackTop::Other,
        }
    }
}

fn is_import(function: &str) -> bool {
    matches!(function, "__import__" | "importlib.import_module")
}

fn at<T>(items: &[T], index: u32) -> Option<&T> {
    items.get(usize::try_from(index).ok()?)
}
