//! Looks tools up, and checks how their results are used.

use std::sync::Arc;

use onecall_core::{Resolution, ToolSpec};
use oxc_ast::ast::Expression;

use super::CertainPath;
use crate::program::MAX_FINDINGS;
use crate::program::problem::{self, did_you_mean};
use crate::program::typescript::names::ToolReference;
use crate::program::typescript::result_use::{ResultUse, misuse};
use crate::program::typescript::wrapper::unwrapped;
use crate::typescript_signature;

/// The promise or the result of a call.
#[derive(Clone)]
pub(super) struct ToolResult {
    /// The tool as the program writes it.
    written: String,
    spec: Arc<ToolSpec>,
}

impl<'a> CertainPath<'_, 'a> {
    /// Looks up a tool; reports it if there is no such tool. What is wrong with an import is
    /// reported by the worker before the program begins.
    pub(super) fn resolve(
        &mut self,
        at: &Expression<'a>,
        tool: &ToolReference<'a>,
    ) -> Option<Resolution> {
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
    pub(super) fn unawaited_call(&self, expression: &Expression<'a>) -> Option<ToolResult> {
        let Expression::CallExpression(call) = unwrapped(expression) else { return None };
        let tool = self.names.tool_of(&call.callee)?;
        let resolution = self.resolved.get(&tool.lookup_name())?.as_ref()?;
        let spec = resolution.spec()?.clone();
        let written = match tool {
            ToolReference::Global(name) | ToolReference::Import { name, .. } => name.to_owned(),
            ToolReference::Attribute(name) => format!("tools.{name}"),
        };
        Some(ToolResult { written, spec })
    }

    /// Reports the use of a result that was not awaited.
    pub(super) fn check_result_use(&mut self, expression: &Expression<'a>) {
        let call = match unwrapped(expression) {
            Expression::Identifier(name) => self.unawaited.get(name.name.as_str()).cloned(),
            _ => self.unawaited_call(expression),
        };
        if let Some(ToolResult { written, spec }) = call {
            let message = problem::unawaited_result(&written);
            self.report(expression, "TypeError", message, Some(typescript_signature(&spec)));
        }
    }

    /// Reports a result that is used as if it had another type than its tool declares.
    pub(super) fn check_shape(&mut self, value: &Expression<'a>, result_use: ResultUse<'a>) {
        let result = match unwrapped(value) {
            Expression::Identifier(name) => self.results.get(name.name.as_str()).cloned(),
            Expression::AwaitExpression(it) => self.unawaited_call(&it.argument),
            _ => None,
        };
        let Some(ToolResult { written, spec }) = result else { return };
        let Some(schema) = &spec.output_schema else { return };
        let is_known = match result_use {
            ResultUse::Method(name) | ResultUse::Property(name) => !self.names.is_bound(name),
            ResultUse::Item | ResultUse::Items => true,
        };
        if is_known
            && self.names.knows_properties()
            && let Some(message) = misuse(&written, schema, result_use)
        {
            self.report(value, "TypeError", message, Some(typescript_signature(&spec)));
        }
    }

    /// Reports a look into a part of a result that the result does not have.
    pub(super) fn check_missing_part(&mut self, part: &Expression<'a>) {
        match unwrapped(part) {
            Expression::StaticMemberExpression(it) if !it.optional => {
                self.check_shape(&it.object, ResultUse::Property(it.property.name.as_str()));
            }
            Expression::ComputedMemberExpression(it) if !it.optional => {
                match unwrapped(&it.expression) {
                    Expression::NumericLiteral(_) => self.check_shape(&it.object, ResultUse::Item),
                    Expression::StringLiteral(key) => {
                        self.check_shape(&it.object, ResultUse::Property(key.value.as_str()));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
