//! Follows a TypeScript program along the statements that run in every case, and reports what must
//! fail there.
//!
//! The bodies of `if`, loops, `switch` and `try` may not run, or may be expected to fail, so they
//! are skipped, except for loops that certainly have an iteration; so are functions, except for
//! those that are certainly called. A call whose promise is not used fails the program as well if it
//! fails.

mod calls;
mod expressions;
mod results;

use std::collections::{HashMap, HashSet};

use onecall_core::Resolution;
use oxc_ast::ast::{
    BindingPattern, Expression, ForStatementInit, Program, Statement, VariableDeclaration,
};
use oxc_span::GetSpan;

use super::exits::{ProgramExit, may_leave};
use super::function::FollowedFunction;
use super::known_values::KnownValues;
use super::names::BoundNames;
use super::wrapper::unwrapped;
use crate::program::lines::SourceLines;
use crate::program::{Finding, MAX_FINDINGS, ToolLookup};

use results::ToolResult;

pub(super) fn findings(
    program: &Program<'_>,
    lines: &SourceLines<'_>,
    tools: &dyn ToolLookup,
) -> Vec<Finding> {
    let names = BoundNames::of(program);
    if !names.are_all_visible() {
        return Vec::new();
    }
    let mut path = CertainPath {
        names: &names,
        lines,
        tools,
        functions: HashMap::new(),
        followed: HashSet::new(),
        resolved: HashMap::new(),
        exiting: HashSet::new(),
        unawaited: HashMap::new(),
        results: HashMap::new(),
        known: KnownValues::default(),
        may_have_exited: false,
        calls: 0,
        found: Vec::new(),
    };
    path.body(&program.body, Awaited::Yes);
    path.found
}

/// Whether the failure of an expression's promise certainly makes the program fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Yes,
    Perhaps,
}

struct CertainPath<'s, 'a> {
    names: &'s BoundNames<'a>,
    lines: &'s SourceLines<'s>,
    tools: &'s dyn ToolLookup,
    /// Functions defined so far whose names are not bound again.
    functions: HashMap<&'a str, FollowedFunction<'s, 'a>>,
    followed: HashSet<&'a str>,
    resolved: HashMap<String, Option<Resolution>>,
    /// Functions that mention `process.exit`.
    exiting: HashSet<&'a str>,
    /// Variables that contain the promise of a call.
    unawaited: HashMap<&'a str, ToolResult>,
    /// Variables that contain the result of an awaited call.
    results: HashMap<&'a str, ToolResult>,
    known: KnownValues<'a>,
    /// Whether the program may have ended without a failure. Nothing is reported from then on.
    may_have_exited: bool,
    calls: usize,
    found: Vec<Finding>,
}

impl<'s, 'a> CertainPath<'s, 'a> {
    /// Follows statements. `returned` says whether a promise that they return is awaited.
    fn body(&mut self, statements: &'s [Statement<'a>], returned: Awaited) {
        for statement in statements {
            if let Statement::FunctionDeclaration(it) = statement
                && let Some(id) = &it.id
                && self.names.is_bound_once(id.name.as_str())
            {
                self.functions.insert(id.name.as_str(), FollowedFunction::Function(it));
                if ProgramExit::of(statement, &self.exiting) != ProgramExit::None {
                    self.exiting.insert(id.name.as_str());
                }
            }
        }
        for statement in statements {
            if self.may_have_exited || self.found.len() >= MAX_FINDINGS {
                return;
            }
            if !matches!(statement, Statement::FunctionDeclaration(_)) {
                let exit = ProgramExit::of(statement, &self.exiting);
                self.may_have_exited |= exit == ProgramExit::Possible;
                if self.may_have_exited {
                    return;
                }
                self.statement(statement, returned);
                self.may_have_exited |= exit == ProgramExit::InCalledFunction;
            }
            if may_leave(statement) {
                return;
            }
        }
    }

    fn statement(&mut self, statement: &'s Statement<'a>, returned: Awaited) {
        match statement {
            Statement::ExpressionStatement(it) => self.expr(&it.expression, Awaited::Yes),
            Statement::VariableDeclaration(it) => self.declaration(it),
            Statement::ReturnStatement(it) => {
                it.argument.iter().for_each(|value| self.expr(value, returned));
            }
            Statement::ThrowStatement(it) => self.expr(&it.argument, Awaited::Perhaps),
            Statement::BlockStatement(it) => self.body(&it.body, returned),
            Statement::LabeledStatement(it) => self.statement(&it.body, returned),
            Statement::IfStatement(it) => self.expr(&it.test, Awaited::Perhaps),
            Statement::WhileStatement(it) => {
                self.expr(&it.test, Awaited::Perhaps);
                if matches!(unwrapped(&it.test), Expression::BooleanLiteral(test) if test.value) {
                    self.only(&it.body, returned);
                }
            }
            Statement::DoWhileStatement(it) => self.only(&it.body, returned),
            Statement::SwitchStatement(it) => self.expr(&it.discriminant, Awaited::Perhaps),
            Statement::ForInStatement(it) => self.used(&it.right),
            Statement::ForOfStatement(it) if it.r#await => self.expr(&it.right, Awaited::Perhaps),
            Statement::ForOfStatement(it) => {
                self.iterated(&it.right);
                if self.known.has_items(self.names, &it.right) {
                    self.only(&it.body, returned);
                }
            }
            Statement::ForStatement(it) => {
                match &it.init {
                    Some(ForStatementInit::VariableDeclaration(it)) => self.declaration(it),
                    Some(init) => self.exprs(init.as_expression()),
                    None => {}
                }
                self.exprs(it.test.as_ref());
                if self.known.counts(self.names, it) {
                    self.only(&it.body, returned);
                }
            }
            _ => {}
        }
    }

    /// Follows the one statement that is the body of a loop.
    fn only(&mut self, statement: &'s Statement<'a>, returned: Awaited) {
        self.body(std::slice::from_ref(statement), returned);
    }

    fn declaration(&mut self, declaration: &'s VariableDeclaration<'a>) {
        for declarator in &declaration.declarations {
            let Some(init) = &declarator.init else { continue };
            match &declarator.id {
                BindingPattern::BindingIdentifier(id) => {
                    self.expr(init, Awaited::Perhaps);
                    if self.names.is_bound_once(id.name.as_str()) {
                        self.assign(id.name.as_str(), init);
                    }
                }
                BindingPattern::ArrayPattern(_) => self.iterated(init),
                // Its parts are taken out of the value.
                _ => self.looked_into(init),
            }
        }
    }

    /// Remembers what is known of the value of a variable that is bound once.
    fn assign(&mut self, name: &'a str, value: &'s Expression<'a>) {
        self.known.assign(self.names, name, value);
        if let Some(function) = FollowedFunction::of(value) {
            self.functions.insert(name, function);
        } else if let Some(call) = self.unawaited_call(value) {
            self.unawaited.insert(name, call);
        } else if let Expression::AwaitExpression(awaited) = unwrapped(value)
            && let Some(result) = self.unawaited_call(&awaited.argument)
        {
            self.results.insert(name, result);
        }
    }

    fn report(
        &mut self,
        at: &impl GetSpan,
        kind: &'static str,
        message: String,
        signature: Option<String>,
    ) {
        let offset = usize::try_from(at.span().start).unwrap_or_default();
        let finding = Finding { signature, ..self.lines.finding(offset, kind, message) };
        let is_reported = |it: &Finding| it.line == finding.line && it.message == finding.message;
        if !self.may_have_exited
            && self.found.len() < MAX_FINDINGS
            && !self.found.iter().any(is_reported)
        {
            self.found.push(finding);
        }
    }
}
