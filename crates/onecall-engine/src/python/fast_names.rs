//! Turns variables of a program's top level into local variables of its code.

use std::collections::HashMap;

use rustpython_vm::bytecode::oparg::OpArgByte;
use rustpython_vm::bytecode::{
    CO_FAST_HIDDEN, CO_FAST_LOCAL, CodeObject, CodeUnit, Constant, Instruction, Opcode,
};

/// The code of a program with these variables of its top level as local variables. Every instruction
/// keeps its place.
pub(super) fn with_fast_names<C>(code: &CodeObject<C>, names: &[C::Name]) -> CodeObject<C>
where
    C: Constant,
    C::Name: Clone,
{
    let (mut varnames, mut kinds) = (code.varnames.to_vec(), code.localspluskinds.to_vec());
    // Other slots follow after those of local variables, and would be moved.
    if varnames.len() != kinds.len() {
        return code.clone();
    }
    let mut slots = HashMap::new();
    for name in names {
        let index = code.names.iter().position(|it| it.as_ref() == name.as_ref());
        if let (Some(index), Ok(slot)) = (index, u8::try_from(varnames.len())) {
            slots.insert(index, slot);
            varnames.push(name.clone());
            // Frames list such a variable only while it has a value, next to those of the module.
            kinds.push(CO_FAST_LOCAL | CO_FAST_HIDDEN);
        }
    }
    let mut units = code.instructions.to_vec();
    use_slots(&mut units, &slots);
    borrow_operands(&mut units);
    CodeObject {
        instructions: units.into(),
        varnames: varnames.into(),
        localspluskinds: kinds.into(),
        ..code.clone()
    }
}

/// Replaces the instructions that load and store the variables with these indices by those for local
/// variables.
fn use_slots(units: &mut [CodeUnit], slots: &HashMap<usize, u8>) {
    let (mut at, mut prefix, mut prefixes) = (0, 0_usize, 0);
    while let Some(unit) = units.get(at).copied() {
        let argument = prefix | usize::from(unit.arg.as_u8());
        if matches!(unit.op, Instruction::ExtendedArg) {
            (at, prefix, prefixes) = (at + 1, argument << 8, prefixes + 1);
            continue;
        }
        let local = match unit.op {
            Instruction::LoadName { .. } => Some(Opcode::LoadFast),
            Instruction::StoreName { .. } => Some(Opcode::StoreFast),
            _ => None,
        };
        if let (Some(local), Some(slot)) = (local, slots.get(&argument)) {
            for prefix in units.get_mut(at - prefixes..at).unwrap_or_default() {
                prefix.arg = OpArgByte::NULL;
            }
            if let Some(unit) = units.get_mut(at) {
                *unit = CodeUnit { op: local.into(), arg: OpArgByte::new(*slot) };
            }
        }
        (at, prefix, prefixes) = (at + 1 + unit.op.cache_entries(), 0, 0);
    }
}

/// Loads the operands of operators without counting a reference to them, as the compiler does for
/// functions: nothing can assign the variable before the operator has used its value.
fn borrow_operands(units: &mut [CodeUnit]) {
    let mut at = 0;
    while let Some(unit) = units.get(at).copied() {
        if matches!(unit.op, Instruction::LoadFast { .. })
            && is_operand(units, at)
            && let Some(unit) = units.get_mut(at)
        {
            unit.op = Opcode::LoadFastBorrow.into();
        }
        at += 1 + unit.op.cache_entries();
    }
}

/// Whether the value that is loaded at this place is an operand of an operator that follows at once, or
/// after the load of its other operand.
fn is_operand(units: &[CodeUnit], at: usize) -> bool {
    let op = |at: usize| units.get(at).map(|unit| unit.op);
    let is_operator = |op: Option<Instruction>| {
        matches!(op, Some(Instruction::BinaryOp { .. } | Instruction::CompareOp { .. }))
    };
    let is_load = |op: Option<Instruction>| {
        matches!(
            op,
            Some(
                Instruction::LoadFast { .. }
                    | Instruction::LoadConst { .. }
                    | Instruction::LoadSmallInt { .. }
            )
        )
    };
    is_operator(op(at + 1)) || is_load(op(at + 1)) && is_operator(op(at + 2))
}
