//! Follows a program along the statements that run in every case, and reports what must fail there.
//!
//! The bodies of `if`, loops, `try` and `with` may not run, or may be expected to fail, so they are
//! skipped, except for loops that certainly have an iteration and `with` blocks that certainly pass
//! failures on. Functions are skipped, too, except for those that are certainly called.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onecall_core::{Resolution, ToolSpec};
use ruff_python_ast::{
    CmpOp, Comprehension, Expr, ExprCall, ExprContext, InterpolatedStringElement, Stmt,
    StmtFunctionDef,
};
use ruff_text_size::Ranged;

use super::arguments::problems;
use super::certain_loops::KnownValues;
use super::exits::PossibleExits;
use super::names::{BoundNames, CallInterface};
use super::parse::SyntaxTreeView;
use super::result_use::{Access, misuse};
use super::unawaited_arguments::CoroutineUse;
use crate::program::lines::SourceLines;
use crate::program::problem::{self, did_you_mean};
use crate::program::{Finding, MAX_CALLS, MAX_FINDINGS, MAX_FOLLOWED, ToolLookup};
use crate::python_signature;

pub(in crate::program) fn findings(
    parsed: &SyntaxTreeView<'_>,
    tools: &dyn ToolLookup,
) -> Vec<Finding> {
    let names = BoundNames::of(parsed.body);
    if !names.are_all_visible() {
        return Vec::new();
    }
    let mut path = CertainPath {
        names: &names,
        lines: parsed.lines,
        tools,
        functions: HashMap::new(),
        followed: HashSet::new(),
        resolved: HashMap::new(),
        unawaited: HashMap::new(),
        results: HashMap::new(),
        known: KnownValues::default(),
        guards: 0,
        calls: 0,
        found: Vec::new(),
    };
    path.body(parsed.body);
    path.found
}

/// Whether the value of an expression is certainly awaited, so that its failure makes the program
/// fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Yes,
    Perhaps,
}

struct CertainPath<'a> {
    names: &'a BoundNames<'a>,
    lines: &'a SourceLines<'a>,
    tools: &'a dyn ToolLookup,
    /// Functions defined so far whose names are not bound again.
    functions: HashMap<&'a str, &'a StmtFunctionDef>,
    followed: HashSet<&'a str>,
    resolved: HashMap<&'a str, Option<Resolution>>,
    /// Variables that contain a call without `await`, with its tool.
    unawaited: HashMap<&'a str, &'a str>,
    /// Variables that contain the result of an awaited call, with its tool.
    results: HashMap<&'a str, &'a str>,
    known: KnownValues<'a>,
    guards: usize,
    calls: usize,
    found: Vec<Finding>,
}

impl<'a> CertainPath<'a> {
    fn body(&mut self, statements: &'a [Stmt]) {
        for statement in statements {
            let possible_exits = PossibleExits::of(std::slice::from_ref(statement));
            if possible_exits.exits || self.found.len() >= MAX_FINDINGS {
                return;
            }
            self.statement(statement);
            if possible_exits.returns || possible_exits.breaks {
                return;
            }
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(it) if self.has_stable_name(it) => {
                self.functions.insert(&it.name, it);
            }
            Stmt::Expr(it) => {
                self.expr(&it.value, Awaited::Perhaps);
                if let Some(tool) = self.unawaited_call(&it.value) {
                    self.report(
                        &*it.value,
                        "RuntimeError",
                        format!("{tool}() is never awaited, so it does not run"),
                        self.signature(tool),
                    );
                }
            }
            Stmt::Assign(it) => {
                self.expr(&it.value, Awaited::Perhaps);
                for target in &it.targets {
                    self.expr(target, Awaited::Perhaps);
                }
                if let [Expr::Name(target)] = &*it.targets {
                    self.assign(&target.id, &it.value);
                }
            }
            Stmt::AnnAssign(it) => self.exprs(it.value.as_deref()),
            Stmt::AugAssign(it) => self.expr(&it.value, Awaited::Perhaps),
            Stmt::Return(it) => self.exprs(it.value.as_deref()),
            Stmt::For(it) => {
                if !it.is_async {
                    self.check_result_use(&it.iter);
                }
                self.expr(&it.iter, Awaited::Perhaps);
                if !it.is_async && self.known.has_items(self.names, &it.iter) {
                    self.body(&it.body);
                }
            }
            Stmt::If(it) if self.is_main_guard(&it.test) => {
                self.guards += 1;
                if self.guards <= MAX_FOLLOWED {
                    self.body(&it.body);
                }
            }
            Stmt::If(it) => self.expr(&it.test, Awaited::Perhaps),
            Stmt::While(it) => {
                self.expr(&it.test, Awaited::Perhaps);
                if matches!(&*it.test, Expr::BooleanLiteral(test) if test.value) {
                    self.body(&it.body);
                }
            }
            Stmt::With(it) => {
                self.exprs(it.items.first().map(|item| &item.context_expr));
                let mut managers = it.items.iter().map(|item| &item.context_expr);
                if managers.all(|manager| self.known.passes_failures_on(self.names, manager)) {
                    self.body(&it.body);
                }
            }
            Stmt::Match(it) => self.expr(&it.subject, Awaited::Perhaps),
            Stmt::Assert(it) => self.expr(&it.test, Awaited::Perhaps),
            _ => {}
        }
    }

    /// Remembers what is known of the value of a variable.
    fn assign(&mut self, target: &'a str, value: &'a Expr) {
        self.known.assign(self.names, target, value);
        if !self.names.is_bound_once(target) {
            return;
        }
        if let Some(tool) = self.unawaited_call(value) {
            self.unawaited.insert(target, tool);
        }
        if let Expr::Await(awaited) = value
            && let Some(tool) = self.unawaited_call(&awaited.value)
        {
            self.results.insert(target, tool);
        }
    }

    fn has_stable_name(&self, function: &StmtFunctionDef) -> bool {
        self.names.is_bound_once(&function.name) && function.decorator_list.is_empty()
    }

    /// Whether this is `if __name__ == "__main__":`, which is always true.
    fn is_main_guard(&self, test: &Expr) -> bool {
        let Expr::Compare(it) = test else { return false };
        let (Expr::Name(name), [CmpOp::Eq], [Expr::StringLiteral(text)]) =
            (&*it.left, &*it.ops, &*it.comparators)
        else {
            return false;
        };
        name.id == "__name__"
            && text.value.to_str() == "__main__"
            && !self.names.is_bound("__name__")
    }

    fn exprs(&mut self, expressions: impl IntoIterator<Item = &'a Expr>) {
        for expression in expressions {
            self.expr(expression, Awaited::Perhaps);
        }
    }

    /// Checks the parts of an expression that are evaluated in every case.
    fn expr(&mut self, expr: &'a Expr, awaited: Awaited) {
        match expr {
            Expr::Name(it) if it.ctx == ExprContext::Load => {
                self.resolve(expr, &it.id);
            }
            Expr::Await(it) => self.expr(&it.value, Awaited::Yes),
            Expr::Call(it) => self.call(it, awaited),
            Expr::Subscript(it) => {
                self.check_result_use(&it.value);
                self.exprs([&*it.value, &*it.slice]);
                self.check_shape(&it.value, &Access::Item(&it.slice));
            }
            Expr::Attribute(it) => {
                if let Some((name, _)) = self.names.tool_of(expr) {
                    self.attribute(expr, name);
                    return;
                }
                let is_of_coroutines = ["send", "throw", "close"].contains(&it.attr.as_str());
                if !is_of_coroutines && !it.attr.starts_with("cr_") && !it.attr.starts_with("__") {
                    self.check_result_use(&it.value);
                }
                self.expr(&it.value, Awaited::Perhaps);
                if !it.attr.starts_with("__") {
                    self.check_shape(&it.value, &Access::Attribute(&it.attr));
                }
            }
            Expr::BoolOp(it) => self.exprs(it.values.first()),
            Expr::If(it) => self.expr(&it.test, Awaited::Perhaps),
            Expr::Compare(it) => self.exprs([&*it.left].into_iter().chain(it.comparators.first())),
            Expr::Named(it) => self.expr(&it.value, Awaited::Perhaps),
            Expr::BinOp(it) => self.exprs([&*it.left, &*it.right]),
            Expr::UnaryOp(it) => self.expr(&it.operand, Awaited::Perhaps),
            Expr::List(it) => self.exprs(&it.elts),
            Expr::Tuple(it) => self.exprs(&it.elts),
            Expr::Set(it) => self.exprs(&it.elts),
            Expr::Dict(it) => {
                for item in &it.items {
                    self.exprs(item.key.iter().chain([&item.value]));
                }
            }
            Expr::Starred(it) => self.expr(&it.value, Awaited::Perhaps),
            Expr::Slice(it) => {
                self.exprs(
                    [&it.lower, &it.upper, &it.step].into_iter().filter_map(Option::as_deref),
                );
            }
            Expr::FString(it) => {
                for element in it.value.elements() {
                    if let InterpolatedStringElement::Interpolation(it) = element {
                        self.check_unawaited(&it.expression, CoroutineUse::Shown);
                        self.expr(&it.expression, Awaited::Perhaps);
                    }
                }
            }
            Expr::ListComp(it) => self.comprehension(&it.generators, &[&it.elt], Awaited::Perhaps),
            Expr::SetComp(it) => self.comprehension(&it.generators, &[&it.elt], Awaited::Perhaps),
            Expr::DictComp(it) => {
                let each: Vec<&Expr> = it.key.as_deref().into_iter().chain([&*it.value]).collect();
                self.comprehension(&it.generators, &each, Awaited::Perhaps);
            }
            // A generator evaluates only its first iterable until it is consumed.
            Expr::Generator(it) => self.exprs(it.generators.first().map(|first| &first.iter)),
            _ => {}
        }
    }

    /// Checks a comprehension. Its first iterable is evaluated in every case; what it evaluates for
    /// each item is checked if there certainly is an item.
    fn comprehension(
        &mut self,
        generators: &'a [Comprehension],
        each: &[&'a Expr],
        awaited: Awaited,
    ) {
        let Some((first, rest)) = generators.split_first() else { return };
        if !first.is_async {
            self.check_result_use(&first.iter);
        }
        self.expr(&first.iter, Awaited::Perhaps);
        let is_certain = !first.is_async && first.ifs.is_empty() && rest.is_empty();
        if is_certain && self.known.has_items(self.names, &first.iter) {
            for expr in each {
                self.expr(expr, awaited);
            }
        }
    }

    fn call(&mut self, call: &'a ExprCall, awaited: Awaited) {
        match &*call.func {
            Expr::Name(name) => match self.resolve(&call.func, &name.id) {
                Some(Resolution::Callable(spec) | Resolution::Unavailable { spec, .. }) => {
                    self.tool_call(call, &spec, awaited);
                }
                Some(Resolution::Blocked) if awaited == Awaited::Yes => {
                    let message = problem::blocked(&name.id);
                    self.report(call, "ToolError", message, None);
                }
                Some(_) => {}
                None => self.follow(&name.id, awaited),
            },
            other => {
                if let Some((name, interface)) = self.names.tool_of(other)
                    && let Some(resolution) = self.look_up(name)
                    && let Some(spec) = resolution.spec()
                {
                    // A call that returns the value directly fails immediately.
                    let is_blocking = interface.of(name, spec) == CallInterface::Blocking;
                    self.tool_call(call, spec, if is_blocking { Awaited::Yes } else { awaited });
                }
                self.expr(other, Awaited::Perhaps);
            }
        }
        let coroutine_use = CoroutineUse::by(call, self.names);
        for (position, argument) in call.arguments.args.iter().enumerate() {
            if let Some(coroutine_use) = coroutine_use {
                self.check_unawaited(argument, coroutine_use);
            }
            let awaited = self.awaits_argument(call, position, awaited);
            match argument {
                Expr::Starred(it) => self.unpacked(&it.value, awaited),
                _ => self.expr(argument, awaited),
            }
        }
        for keyword in &call.arguments.keywords {
            self.expr(&keyword.value, Awaited::Perhaps);
        }
    }

    /// Checks what is unpacked into the arguments of a call: `gather(*[…])`.
    fn unpacked(&mut self, expr: &'a Expr, awaited: Awaited) {
        match expr {
            Expr::ListComp(it) => self.comprehension(&it.generators, &[&it.elt], awaited),
            Expr::Generator(it) => self.comprehension(&it.generators, &[&it.elt], awaited),
            Expr::List(it) => {
                for item in &it.elts {
                    self.expr(item, awaited);
                }
            }
            _ => self.expr(expr, Awaited::Perhaps),
        }
    }

    /// Whether a call awaits one of its arguments and fails if that one fails.
    fn awaits_argument(&self, call: &ExprCall, position: usize, awaited: Awaited) -> Awaited {
        let Expr::Attribute(function) = &*call.func else { return Awaited::Perhaps };
        let is_asyncio = matches!(&*function.value, Expr::Name(it) if it.id == "asyncio")
            && self.names.is_module("asyncio")
            && !self.names.is_bound(&function.attr);
        let awaits = match function.attr.as_str() {
            "run" => position == 0,
            "wait_for" => awaited == Awaited::Yes && position == 0,
            // With `return_exceptions`, a failure is an ordinary result.
            "gather" => awaited == Awaited::Yes && call.arguments.keywords.is_empty(),
            _ => false,
        };
        if is_asyncio && awaits { Awaited::Yes } else { Awaited::Perhaps }
    }

    fn tool_call(&mut self, call: &'a ExprCall, spec: &Arc<ToolSpec>, awaited: Awaited) {
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return;
        }
        let problems = problems(spec, &call.arguments);
        let mut messages = problems.immediate;
        if awaited == Awaited::Yes {
            messages.extend(problems.when_awaited);
        }
        if !messages.is_empty() {
            let message = problem::arguments(spec, &messages);
            self.report(call, "TypeError", message, Some(python_signature(spec)));
        }
    }

    /// Continues in the body of a function that is certainly executed.
    fn follow(&mut self, name: &'a str, awaited: Awaited) {
        let Some(function) = self.functions.get(name).copied() else { return };
        let runs = !function.is_async || awaited == Awaited::Yes;
        if !runs || self.followed.len() >= MAX_FOLLOWED || self.followed.contains(name) {
            return;
        }
        if !PossibleExits::of(&function.body).yields {
            self.followed.insert(name);
            self.body(&function.body);
        }
    }

    /// Looks up a name that can only be a tool; reports it if there is no such tool.
    fn resolve(&mut self, at: &Expr, name: &'a str) -> Option<Resolution> {
        if !self.names.may_be_tool(name) {
            return None;
        }
        let resolution = self.look_up(name)?;
        if let Resolution::Unknown { nearest, .. } = &resolution {
            let message = format!("name '{name}' is not defined{}", did_you_mean(nearest));
            self.report(at, "NameError", message, None);
        }
        Some(resolution)
    }

    /// Reports an attribute of `tools` that is not a tool.
    fn attribute(&mut self, at: &Expr, name: &'a str) {
        match self.look_up(name) {
            Some(Resolution::Unknown { nearest, .. }) => {
                let message = problem::no_tool(name, &nearest);
                self.report(at, "AttributeError", message, None);
            }
            Some(Resolution::Blocked) => {
                let message = problem::blocked(name);
                self.report(at, "AttributeError", message, None);
            }
            Some(_) | None => {}
        }
    }

    /// Looks up the name of a tool. A search for similar names takes time, so there are no more
    /// lookups once the limit of findings is reached.
    fn look_up(&mut self, name: &'a str) -> Option<Resolution> {
        if self.found.len() >= MAX_FINDINGS {
            return None;
        }
        let tools = self.tools;
        self.resolved.entry(name).or_insert_with(|| tools.resolve(name)).clone()
    }

    /// The tool that an expression calls without awaiting it, if it does.
    fn unawaited_call(&self, expr: &'a Expr) -> Option<&'a str> {
        let Expr::Call(call) = expr else { return None };
        let Expr::Name(name) = &*call.func else { return None };
        let resolution = self.resolved.get(name.id.as_str())?.as_ref()?;
        let is_tool = !matches!(resolution, Resolution::Unknown { .. });
        (is_tool && self.names.may_be_tool(&name.id)).then_some(name.id.as_str())
    }

    /// Reports the use of a result that was not awaited.
    fn check_result_use(&mut self, expr: &'a Expr) {
        let tool = match expr {
            Expr::Name(name) => self.unawaited.get(name.id.as_str()).copied(),
            Expr::Call(call) => {
                if let Expr::Name(name) = &*call.func
                    && self.names.may_be_tool(&name.id)
                {
                    self.look_up(&name.id);
                }
                self.unawaited_call(expr)
            }
            _ => None,
        };
        if let Some(tool) = tool {
            let message = problem::unawaited_result(tool);
            self.report(expr, "TypeError", message, self.signature(tool));
        }
    }

    /// Reports a call that is handed to something that does not await it.
    fn check_unawaited(&mut self, expr: &'a Expr, coroutine_use: CoroutineUse) {
        if coroutine_use == CoroutineUse::Fails || expr.is_call_expr() {
            self.check_result_use(expr);
        }
    }

    /// Reports a result that is used as if it had another type than its tool declares.
    fn check_shape(&mut self, value: &'a Expr, access: &Access<'a>) {
        let tool = match value {
            Expr::Name(name) => self.results.get(name.id.as_str()).copied(),
            Expr::Await(awaited) => self.unawaited_call(&awaited.value),
            _ => None,
        };
        let Some(tool) = tool else { return };
        let Some(Some(resolution)) = self.resolved.get(tool) else { return };
        let Some(spec) = resolution.spec() else { return };
        let Some(schema) = &spec.output_schema else { return };
        if let Some((kind, message)) = misuse(tool, schema, access) {
            self.report(value, kind, message, self.signature(tool));
        }
    }

    fn signature(&self, tool: &str) -> Option<String> {
        self.resolved.get(tool)?.as_ref()?.spec().map(|spec| python_signature(spec))
    }

    fn report(
        &mut self,
        at: &impl Ranged,
        kind: &'static str,
        message: String,
        signature: Option<String>,
    ) {
        let finding =
            Finding { signature, ..self.lines.finding(at.start().to_usize(), kind, message) };
        let is_reported = |it: &Finding| it.line == finding.line && it.message == finding.message;
        if self.found.len() < MAX_FINDINGS && !self.found.iter().any(is_reported) {
            self.found.push(finding);
        }
    }
}
