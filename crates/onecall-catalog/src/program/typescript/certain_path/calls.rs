//! Checks calls, and continues in the functions that they certainly call.

use onecall_core::{Resolution, ToolSpec};
use oxc_ast::ast::{ArrowFunctionBody, CallExpression, Expression};

use super::{Awaited, CertainPath};
use crate::program::problem;
use crate::program::typescript::arguments::problems;
use crate::program::typescript::function::FollowedFunction;
use crate::program::typescript::names::ToolReference;
use crate::program::typescript::result_use::ResultUse;
use crate::program::typescript::value_functions::ArgumentUse;
use crate::program::typescript::wrapper::unwrapped;
use crate::program::{MAX_CALLS, MAX_FOLLOWED};
use crate::typescript_signature;

impl<'s, 'a> CertainPath<'s, 'a> {
    pub(super) fn call(&mut self, call: &'s CallExpression<'a>, awaited: Awaited) {
        self.call_with_items(call, awaited, Awaited::Perhaps);
    }

    /// Checks a call. `items` says whether the promises in an array that it returns are awaited.
    fn call_with_items(&mut self, call: &'s CallExpression<'a>, awaited: Awaited, items: Awaited) {
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
        } else if !self.follow_function(callee, awaited) {
            self.expr(callee, Awaited::Perhaps);
            if let Expression::StaticMemberExpression(it) = callee {
                self.check_shape(&it.object, ResultUse::Method(it.property.name.as_str()));
            }
        }
        match call.arguments.as_slice() {
            [only] if awaited == Awaited::Yes && self.is_promise_all(callee) => {
                only.as_expression().into_iter().for_each(|it| self.awaited_items(it));
            }
            arguments => self.arguments(arguments, ArgumentUse::by_call(callee, self.names)),
        }
        self.follow_callback(call, items);
    }

    /// Whether this is `Promise.all`, which fails if one of its promises does.
    fn is_promise_all(&self, callee: &Expression<'a>) -> bool {
        self.names.global_method(callee) == Some(("Promise", "all"))
    }

    /// Checks an array of promises that are awaited.
    fn awaited_items(&mut self, list: &'s Expression<'a>) {
        match unwrapped(list) {
            Expression::ArrayExpression(it) => self.elements(&it.elements, Awaited::Yes),
            Expression::CallExpression(it) => {
                self.call_with_items(it, Awaited::Perhaps, Awaited::Yes);
                self.check_result_use(list);
            }
            other => self.iterated(other),
        }
    }

    /// Continues in the function that `map` and its like call for each item, if there certainly is
    /// one.
    fn follow_callback(&mut self, call: &'s CallExpression<'a>, items: Awaited) {
        let Expression::StaticMemberExpression(callee) = unwrapped(&call.callee) else { return };
        let awaited = match callee.property.name.as_str() {
            // A promise that is dropped fails the program if it fails.
            "forEach" => Awaited::Yes,
            "map" | "flatMap" => items,
            "every" | "filter" | "find" | "findIndex" | "some" => Awaited::Perhaps,
            _ => return,
        };
        let Some(callback) = call.arguments.first().and_then(|it| it.as_expression()) else {
            return;
        };
        if self.known.has_items(self.names, &callee.object) {
            self.follow_function(unwrapped(callback), awaited);
        }
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

    /// Continues in a function that is certainly called, if its body is known.
    fn follow_function(&mut self, function: &'s Expression<'a>, awaited: Awaited) -> bool {
        if let Some(function) = FollowedFunction::of(function) {
            self.follow(function, awaited);
            return true;
        }
        let Expression::Identifier(name) = function else { return false };
        let Some(function) = self.functions.get(name.name.as_str()).copied() else { return false };
        if self.followed.insert(name.name.as_str()) {
            self.follow(function, awaited);
        }
        true
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
}
