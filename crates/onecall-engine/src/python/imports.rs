//! Which modules a program imports, seen in its compiled code before it runs.

use std::collections::BTreeSet;

use rustpython_vm::bytecode::{
    BorrowedConstant, CodeObject, Constant, Instruction, oparg::OpArgState,
};

/// The top-level names of all modules that `code` and the functions in it import.
pub(super) fn imports<C: Constant>(code: &CodeObject<C>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = vec![code];
    while let Some(code) = rest.pop() {
        let mut state = OpArgState::default();
        for unit in &*code.instructions {
            let (instruction, argument) = state.get(*unit);
            if let Instruction::ImportName { .. } = instruction {
                let index = usize::try_from(u32::from(argument)).unwrap_or(usize::MAX);
                let name = code.names.get(index).map_or("", AsRef::as_ref);
                found.insert(name.split('.').next().unwrap_or_default().to_owned());
            }
        }
        rest.extend(code.constants.iter().filter_map(
            |constant| match constant.borrow_constant() {
                BorrowedConstant::Code { code } => Some(code),
                _ => None,
            },
        ));
    }
    found
}
