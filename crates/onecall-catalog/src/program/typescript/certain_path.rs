//! Follows a TypeScript program along the statements that run in every case, and reports what must
//! fail there.
//!
//! The bodies of `if`, loops, `switch` and `try` may not run, or may be expected to fail, so they
//! are skipped; so are functions, except for those that are certainly called. A call whose promise
//! nobody uses fails the program as well if it fails.

use std::collections::{HashMap, HashSet};

use onecall_core::{Resolution, ToolSpec};
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ArrowFunctionBody, BindingPattern, CallExpression,
    ChainElement, Expression, ForStatementInit, ObjectPropertyKind, Program, Statement,
    VariableDeclaration,
};
use oxc_span::GetSpan;

use super::arguments::problems;
use super::function::{FollowedFunction, may_leave};
use super::names::{BoundNames, ToolReference};
use super::wrapper::unwrapped;
use crate::program::lines::SourceLines;
use crate::program::problem::{self, did_you_mean};
use crate::program::{Finding, MAX_CALLS, MAX_FINDINGS, MAX_FOLLOWED, ToolLookup};
use crate::typescript_signature;

/// The properties that a promise has.
const PROMISE_MEMBERS: [&str; 6] =
    ["catch", "constructor", "finally", "hasOwnProperty", "then", "toString"];

/// Functions that need the value itself: a promise among their arguments is a mistake.
const VALUE_FUNCTIONS: [(&str, &[&str]); 4] = [
    ("console", &["log", "info", "table", "dir"]),
    ("JSON", &["stringify", "parse"]),
    ("Object", &["keys", "values", "entries", "fromEntries"]),
    ("Array", &["from"]),
];

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
        unawaited: HashMap::new(),
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

/// A call whose promise a program has not awaited.
#[derive(Clone)]
struct UnawaitedCall {
    /// The tool as the program writes it.
    written: String,
    signature: Option<String>,
}

struct CertainPath<'s, 'a> {
    names: &'s BoundNames<'a>,
    lines: &'s SourceLines<'s>,
    tools: &'s dyn ToolLookup,
    /// Functions defined so far whose names are not bound again.
    functions: HashMap<&'a str, FollowedFunction<'s, 'a>>,
    followed: HashSet<&'a str>,
    resolved: HashMap<String, Option<Resolution>>,
    /// Variables that contain the promise of a call.
    unawaited: HashMap<&'a str, UnawaitedCall>,
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
            }
        }
        for statement in statements {
            if self.found.len() >= MAX_FINDINGS {
                return;
            }
            self.statement(statement, returned);
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
            Statement::IfStatement(it) => self.expr(&it.test, Awaited::Perhaps),
            Statement::WhileStatement(it) => self.expr(&it.test, Awaited::Perhaps),
            Statement::SwitchStatement(it) => self.expr(&it.discriminant, Awaited::Perhaps),
            Statement::ForInStatement(it) => self.used(&it.right),
            Statement::ForOfStatement(it) if it.r#await => self.expr(&it.right, Awaited::Perhaps),
            Statement::ForOfStatement(it) => self.used(&it.right),
            Statement::ForStatement(it) => {
                match &it.init {
                    Some(ForStatementInit::VariableDeclaration(it)) => self.declaration(it),
                    Some(init) => self.exprs(init.as_expression()),
                    None => {}
                }
                self.exprs(it.test.as_ref());
            }
            _ => {}
        }
    }

    fn declaration(&mut self, declaration: &'s VariableDeclaration<'a>) {
        for declarator in &declaration.declarations {
            let Some(init) = &declarator.init else { continue };
            let BindingPattern::BindingIdentifier(id) = &declarator.id else {
                // Its parts are taken out of the value.
                self.used(init);
                continue;
            };
            self.expr(init, Awaited::Perhaps);
            let name = id.name.as_str();
            if !self.names.is_bound_once(name) {
                continue;
            }
            if let Some(function) = FollowedFunction::of(init) {
                self.functions.insert(name, function);
            } else if let Some(call) = self.unawaited_call(init) {
                self.unawaited.insert(name, call);
            }
        }
    }

    fn exprs(&mut self, expressions: impl IntoIterator<Item = &'s Expression<'a>>) {
        for expression in expressions {
            self.expr(expression, Awaited::Perhaps);
        }
    }

    /// Checks an expression whose value is used, so that it must not be a promise.
    fn used(&mut self, expression: &'s Expression<'a>) {
        self.expr(expression, Awaited::Perhaps);
        self.check_result_use(expression);
    }

    /// Checks the parts of an expression that are evaluated in every case.
    fn expr(&mut self, expression: &'s Expression<'a>, awaited: Awaited) {
        let expression = unwrapped(expression);
        if let Some(tool) = self.names.tool_of(expression) {
            self.resolve(expression, &tool);
            return;
        }
        match expression {
            Expression::AwaitExpression(it) => self.expr(&it.argument, Awaited::Yes),
            Expression::CallExpression(it) => self.call(it, awaited),
            Expression::ChainExpression(it) => self.chain(&it.expression),
            Expression::StaticMemberExpression(it) => {
                match PROMISE_MEMBERS.contains(&it.property.name.as_str()) {
                    true => self.expr(&it.object, Awaited::Perhaps),
                    false => self.used(&it.object),
                }
            }
            Expression::ComputedMemberExpression(it) => {
                self.used(&it.object);
                self.expr(&it.expression, Awaited::Perhaps);
            }
            Expression::LogicalExpression(it) => self.expr(&it.left, Awaited::Perhaps),
            Expression::ConditionalExpression(it) => self.expr(&it.test, Awaited::Perhaps),
            Expression::BinaryExpression(it) => self.exprs([&it.left, &it.right]),
            Expression::UnaryExpression(it) => self.expr(&it.argument, Awaited::Perhaps),
            Expression::AssignmentExpression(it) => self.expr(&it.right, Awaited::Perhaps),
            Expression::SequenceExpression(it) => self.exprs(&it.expressions),
            Expression::ArrayExpression(it) => self.elements(&it.elements, Awaited::Perhaps),
            Expression::ObjectExpression(it) => {
                for property in &it.properties {
                    match property {
                        ObjectPropertyKind::ObjectProperty(it) => {
                            self.expr(&it.value, Awaited::Perhaps);
                        }
                        ObjectPropertyKind::SpreadProperty(it) => self.used(&it.argument),
                    }
                }
            }
            Expression::TemplateLiteral(it) => it.expressions.iter().for_each(|it| self.used(it)),
            Expression::NewExpression(it) => {
                self.expr(&it.callee, Awaited::Perhaps);
                for argument in &it.arguments {
                    self.argument(argument, Awaited::Perhaps);
                }
            }
            _ => {}
        }
    }

    /// Checks the part of an optional chain that is evaluated in every case: what is before its
    /// first `?.`.
    fn chain(&mut self, element: &'s ChainElement<'a>) {
        let mut part = match element {
            ChainElement::CallExpression(it) if it.optional => return self.exprs([&it.callee]),
            ChainElement::CallExpression(it) => &it.callee,
            ChainElement::TSNonNullExpression(it) => &it.expression,
            member => match member.as_member_expression() {
                Some(member) if member.optional() => return self.used(member.object()),
                Some(member) => member.object(),
                None => return,
            },
        };
        let mut first = None;
        loop {
            part = match unwrapped(part) {
                Expression::CallExpression(it) => {
                    first = it.optional.then_some((&it.callee, false)).or(first);
                    &it.callee
                }
                other => match other.as_member_expression() {
                    Some(member) => {
                        first = member.optional().then_some((member.object(), true)).or(first);
                        member.object()
                    }
                    None => break,
                },
            };
        }
        match first {
            Some((object, true)) => self.used(object),
            Some((callee, false)) => self.expr(callee, Awaited::Perhaps),
            None => {}
        }
    }

    fn elements(&mut self, elements: &'s [ArrayExpressionElement<'a>], awaited: Awaited) {
        for element in elements {
            match element {
                ArrayExpressionElement::SpreadElement(it) => self.used(&it.argument),
                ArrayExpressionElement::Elision(_) => {}
                other => other.as_expression().into_iter().for_each(|it| self.expr(it, awaited)),
            }
        }
    }

    fn argument(&mut self, argument: &'s Argument<'a>, awaited: Awaited) {
        match argument {
            Argument::SpreadElement(it) => self.used(&it.argument),
            other => other.as_expression().into_iter().for_each(|it| self.expr(it, awaited)),
        }
    }

    fn call(&mut self, call: &'s CallExpression<'a>, awaited: Awaited) {
        let callee = unwrapped(&call.callee);
        if let Some(tool) = self.names.tool_of(callee) {
            match self.resolve(callee, &tool) {
                Some(Resolution::Callable(spec) | Resolution::Unavailable { spec, .. }) => {
                    self.tool_call(call, &spec, awaited);
                }
                Some(Resolution::Blocked) if awaited == Awaited::Yes => {
                    if let ToolReference::Global(name) = tool {
                        self.report(callee, "ToolError", problem::blocked(name), None);
                    }
                }
                _ => {}
            }
        } else if let Some(function) = FollowedFunction::of(callee) {
            self.follow(function, awaited);
        } else if let Expression::Identifier(name) = callee
            && let Some(function) = self.functions.get(name.name.as_str()).copied()
        {
            if self.followed.insert(name.name.as_str()) {
                self.follow(function, awaited);
            }
        } else {
            self.expr(callee, Awaited::Perhaps);
        }
        let needs_values = self.needs_values(callee);
        let is_all = awaited == Awaited::Yes && self.is_promise_all(callee);
        for argument in &call.arguments {
            match argument.as_expression().map(unwrapped) {
                Some(Expression::ArrayExpression(list)) if is_all => {
                    self.elements(&list.elements, Awaited::Yes);
                }
                Some(value) if needs_values => self.used(value),
                _ => self.argument(argument, Awaited::Perhaps),
            }
        }
    }

    /// Whether this is one of the [`VALUE_FUNCTIONS`].
    fn needs_values(&self, callee: &Expression<'a>) -> bool {
        let Some((object, name)) = self.global_method(callee) else { return false };
        VALUE_FUNCTIONS.iter().any(|(owner, names)| *owner == object && names.contains(&name))
    }

    /// Whether this is `Promise.all`, which fails if one of its promises does.
    fn is_promise_all(&self, callee: &Expression<'a>) -> bool {
        self.global_method(callee) == Some(("Promise", "all"))
    }

    /// The object and the name of a method of a global object that the program does not change.
    fn global_method(&self, callee: &Expression<'a>) -> Option<(&'a str, &'a str)> {
        let Expression::StaticMemberExpression(it) = callee else { return None };
        let Expression::Identifier(object) = unwrapped(&it.object) else { return None };
        let (object, name) = (object.name.as_str(), it.property.name.as_str());
        (!self.names.is_bound(object) && !self.names.is_bound(name)).then_some((object, name))
    }

    fn tool_call(&mut self, call: &CallExpression<'a>, spec: &ToolSpec, awaited: Awaited) {
        self.calls += 1;
        if self.calls > MAX_CALLS || awaited == Awaited::Perhaps {
            return;
        }
        let problems = problems(spec, &call.arguments);
        if !problems.is_empty() {
            let message = problem::arguments(spec, &problems);
            self.report(call, "TypeError", message, Some(typescript_signature(spec)));
        }
    }

    /// Continues in the body of a function that is certainly called.
    fn follow(&mut self, function: FollowedFunction<'s, 'a>, awaited: Awaited) {
        let fails_program = !function.is_async() || awaited == Awaited::Yes;
        if !fails_program || function.is_generator() || self.followed.len() > MAX_FOLLOWED {
            return;
        }
        match function {
            FollowedFunction::Function(it) => {
                it.body.iter().for_each(|body| self.body(&body.statements, awaited));
            }
            FollowedFunction::Arrow(it) => match &it.body {
                ArrowFunctionBody::FunctionBody(body) => self.body(&body.statements, awaited),
                other => {
                    other.as_expression().into_iter().for_each(|it| self.expr(it, awaited));
                }
            },
        }
    }

    /// Looks up a tool; reports it if there is no such tool. What is wrong with an import is
    /// reported by the worker before the program begins.
    fn resolve(&mut self, at: &Expression<'a>, tool: &ToolReference<'a>) -> Option<Resolution> {
        let resolution = self.look_up(tool)?;
        match (&resolution, tool) {
            (Resolution::Unknown { nearest, .. }, ToolReference::Global(name)) => {
                let message = format!("{name} is not defined{}", did_you_mean(nearest));
                self.report(at, "ReferenceError", message, None);
            }
            (Resolution::Unknown { nearest, .. }, ToolReference::Attribute(name)) => {
                self.report(at, "ReferenceError", problem::no_tool(name, nearest), None);
            }
            (Resolution::Blocked, ToolReference::Attribute(name)) => {
                self.report(at, "ReferenceError", problem::blocked(name), None);
            }
            _ => {}
        }
        Some(resolution)
    }

    /// Looks up the name of a tool. A search for similar names takes time, so there are no more
    /// lookups once the limit of findings is reached.
    fn look_up(&mut self, tool: &ToolReference<'a>) -> Option<Resolution> {
        if self.found.len() >= MAX_FINDINGS {
            return None;
        }
        let (tools, name) = (self.tools, tool.lookup_name());
        self.resolved.entry(name).or_insert_with_key(|name| tools.resolve(name)).clone()
    }

    /// The call of a tool that an expression is, without an `await`.
    fn unawaited_call(&self, expression: &Expression<'a>) -> Option<UnawaitedCall> {
        let Expression::CallExpression(call) = unwrapped(expression) else { return None };
        let tool = self.names.tool_of(&call.callee)?;
        let resolution = self.resolved.get(&tool.lookup_name())?.as_ref()?;
        let spec = resolution.spec()?;
        let written = match tool {
            ToolReference::Global(name) | ToolReference::Import { name, .. } => name.to_owned(),
            ToolReference::Attribute(name) => format!("tools.{name}"),
        };
        Some(UnawaitedCall { written, signature: Some(typescript_signature(spec)) })
    }

    /// Reports the use of a result that was not awaited.
    fn check_result_use(&mut self, expression: &Expression<'a>) {
        let call = match unwrapped(expression) {
            Expression::Identifier(name) => self.unawaited.get(name.name.as_str()).cloned(),
            _ => self.unawaited_call(expression),
        };
        if let Some(UnawaitedCall { written, signature }) = call {
            let message = problem::unawaited_result(&written);
            self.report(expression, "TypeError", message, signature);
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
        if self.found.len() < MAX_FINDINGS && !self.found.iter().any(is_reported) {
            self.found.push(finding);
        }
    }
}
