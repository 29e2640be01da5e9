//! Determines whether the statements after a statement are certain to run if the program is to
//! succeed.

use std::collections::HashSet;

use oxc_ast::ast::{
    ArrowFunctionExpression, BreakStatement, Class, ContinueStatement, DoWhileStatement,
    Expression, ForInStatement, ForOfStatement, ForStatement, Function, IdentifierName,
    IdentifierReference, ReturnStatement, Statement, StringLiteral, SwitchStatement,
    ThrowStatement, WhileStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_syntax::scope::ScopeFlags;

use super::wrapper::unwrapped;

/// The function of `process` that ends a program without a failure.
const EXIT: &str = "exit";

/// Whether a statement may return from the function or the program, throw an exception, leave the
/// loop that it is in, or begin the next iteration, so that the statements after it may not run.
pub(super) fn may_leave(statement: &Statement<'_>) -> bool {
    let mut exits = Exits::default();
    exits.visit_statement(statement);
    exits.found
}

#[derive(Default)]
struct Exits {
    found: bool,
    /// How many loops of the statement surround the current place.
    loops: usize,
    /// How many `switch` statements of the statement surround it.
    switches: usize,
}

impl Exits {
    fn in_loop(&mut self, walk: impl FnOnce(&mut Self)) {
        self.loops += 1;
        walk(self);
        self.loops -= 1;
    }
}

impl<'a> Visit<'a> for Exits {
    fn visit_return_statement(&mut self, _it: &ReturnStatement<'a>) {
        self.found = true;
    }

    fn visit_throw_statement(&mut self, _it: &ThrowStatement<'a>) {
        self.found = true;
    }

    fn visit_break_statement(&mut self, it: &BreakStatement<'a>) {
        self.found |= it.label.is_some() || (self.loops == 0 && self.switches == 0);
    }

    fn visit_continue_statement(&mut self, it: &ContinueStatement<'a>) {
        self.found |= it.label.is_some() || self.loops == 0;
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        self.in_loop(|exits| walk::walk_for_statement(exits, it));
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.in_loop(|exits| walk::walk_for_in_statement(exits, it));
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        self.in_loop(|exits| walk::walk_for_of_statement(exits, it));
    }

    fn visit_while_statement(&mut self, it: &WhileStatement<'a>) {
        self.in_loop(|exits| walk::walk_while_statement(exits, it));
    }

    fn visit_do_while_statement(&mut self, it: &DoWhileStatement<'a>) {
        self.in_loop(|exits| walk::walk_do_while_statement(exits, it));
    }

    fn visit_switch_statement(&mut self, it: &SwitchStatement<'a>) {
        self.switches += 1;
        walk::walk_switch_statement(self, it);
        self.switches -= 1;
    }

    fn visit_function(&mut self, _it: &Function<'a>, _flags: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _it: &ArrowFunctionExpression<'a>) {}

    fn visit_class(&mut self, _it: &Class<'a>) {}
}

/// What a statement has to do with `process.exit`, which ends the program without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramExit {
    /// The statement does not mention it.
    None,
    /// The statement only calls a function that mentions it.
    InCalledFunction,
    /// The statement mentions it, also in a function that it defines.
    Possible,
}

impl ProgramExit {
    /// What a statement does. `exiting` has the functions that mention `process.exit`.
    pub(super) fn of(statement: &Statement<'_>, exiting: &HashSet<&str>) -> Self {
        let mut mentions = Mentions { exiting, exit: false, functions: 0 };
        mentions.visit_statement(statement);
        match (mentions.exit, mentions.functions) {
            (false, 0) => Self::None,
            (false, 1) if called_function(statement).is_some_and(|it| exiting.contains(it)) => {
                Self::InCalledFunction
            }
            _ => Self::Possible,
        }
    }
}

/// The function that a statement calls, if the statement is only that call.
fn called_function<'a>(statement: &Statement<'a>) -> Option<&'a str> {
    let Statement::ExpressionStatement(it) = statement else { return None };
    let call = match unwrapped(&it.expression) {
        Expression::AwaitExpression(it) => unwrapped(&it.argument),
        other => other,
    };
    let Expression::CallExpression(call) = call else { return None };
    match unwrapped(&call.callee) {
        Expression::Identifier(it) => Some(it.name.as_str()),
        _ => None,
    }
}

struct Mentions<'e> {
    exiting: &'e HashSet<&'e str>,
    exit: bool,
    /// How often a function of `exiting` is mentioned.
    functions: usize,
}

impl<'a> Visit<'a> for Mentions<'_> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.exit |= it.name == EXIT;
        self.functions += usize::from(self.exiting.contains(it.name.as_str()));
    }

    fn visit_identifier_name(&mut self, it: &IdentifierName<'a>) {
        self.exit |= it.name == EXIT;
    }

    fn visit_string_literal(&mut self, it: &StringLiteral<'a>) {
        self.exit |= it.value == EXIT;
    }
}
