//! Collects the names that a program binds. Such a name is not a tool, wherever the program binds
//! it.

use std::collections::HashMap;

use onecall_core::ToolSpec;
use ruff_python_ast::visitor::{
    Visitor, walk_except_handler, walk_expr, walk_parameter, walk_pattern, walk_stmt,
    walk_type_param,
};
use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, Parameter, Pattern, Stmt, TypeParam,
};

use crate::program::{TOOL_PREFIX, TOOLS};

/// The attributes of `tools` that are not tools.
const OWN_ATTRIBUTES: [&str; 2] = ["aio", "search"];

/// `await tools.async_x()` calls the tool `x`, unless there is a tool named `async_x`.
pub const ASYNC_PREFIX: &str = "async_";

/// How a tool is called through `tools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallInterface {
    /// The call returns the value.
    Blocking,
    /// The call returns an awaitable.
    Awaitable,
}

impl CallInterface {
    /// How `tools.<name>` is called, given the tool it refers to: `tools.async_x` is awaitable if
    /// it refers to the tool `x`.
    pub(super) fn of(self, name: &str, spec: &ToolSpec) -> Self {
        let is_own = spec.callable.as_str() == name || spec.tool.as_str() == name;
        if name.starts_with(ASYNC_PREFIX) && !is_own { Self::Awaitable } else { self }
    }
}

/// Names that allow a program to bind other names invisibly.
const INVISIBLE_BINDERS: [&str; 19] = [
    "__builtins__",
    "__dict__",
    "__globals__",
    "__import__",
    "__main__",
    "_getframe",
    "builtins",
    "ctypes",
    "delattr",
    "eval",
    "exec",
    "f_builtins",
    "f_globals",
    "globals",
    "locals",
    "mock",
    "runpy",
    "setattr",
    "vars",
];

/// Methods that remove items from a list, dict or set.
const REMOVING_METHODS: [&str; 5] = ["clear", "discard", "pop", "popitem", "remove"];

/// The names that a program binds.
#[derive(Default)]
pub(super) struct BoundNames<'a> {
    /// How often each name is bound.
    bound: HashMap<&'a str, usize>,
    /// How often each name is bound by `import name`.
    imported: HashMap<&'a str, usize>,
    /// Whether names may be bound in ways that cannot be analysed.
    has_invisible_bindings: bool,
    /// Whether items may be removed from a list, dict or set.
    removes_items: bool,
}

impl<'a> BoundNames<'a> {
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut names = Self::default();
        names.visit_body(body);
        names
    }

    /// Whether all bindings of names are visible in the source.
    pub(super) fn are_all_visible(&self) -> bool {
        !self.has_invisible_bindings
    }

    /// Whether a name can only refer to a tool.
    pub(super) fn may_be_tool(&self, name: &str) -> bool {
        name.starts_with(TOOL_PREFIX) && !self.is_bound(name)
    }

    /// The tool that `tools.name` or `tools.aio.name` refers to.
    pub(super) fn tool_of<'b>(&self, expr: &'b Expr) -> Option<(&'b str, CallInterface)> {
        let Expr::Attribute(it) = expr else { return None };
        let (base, interface) = match &*it.value {
            Expr::Attribute(inner) if inner.attr.as_str() == "aio" => {
                (&*inner.value, CallInterface::Awaitable)
            }
            base => (base, CallInterface::Blocking),
        };
        let is_tools =
            matches!(base, Expr::Name(name) if name.id == TOOLS) && !self.is_bound(TOOLS);
        let name = it.attr.as_str();
        let is_tool = is_tools && !name.starts_with('_') && !OWN_ATTRIBUTES.contains(&name);
        is_tool.then_some((name, interface))
    }

    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.bound.contains_key(name)
    }

    /// Whether a name is bound exactly once.
    pub(super) fn is_bound_once(&self, name: &str) -> bool {
        self.bound.get(name) == Some(&1)
    }

    /// Whether a name refers to the module of that name.
    pub(super) fn is_module(&self, name: &str) -> bool {
        self.is_bound(name) && self.bound.get(name) == self.imported.get(name)
    }

    /// Whether the program may remove items from a list, dict or set.
    pub(super) fn removes_items(&self) -> bool {
        self.removes_items
    }

    fn bind(&mut self, name: &'a str) {
        *self.bound.entry(name).or_default() += 1;
    }

    fn check_name(&mut self, name: &'a str) {
        self.has_invisible_bindings |= INVISIBLE_BINDERS.contains(&name);
    }
}

impl<'a> Visitor<'a> for BoundNames<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(it) => self.bind(&it.name),
            Stmt::ClassDef(it) => self.bind(&it.name),
            Stmt::Global(it) => it.names.iter().for_each(|name| self.bind(name)),
            Stmt::Nonlocal(it) => it.names.iter().for_each(|name| self.bind(name)),
            Stmt::Delete(_) => self.removes_items = true,
            Stmt::ImportFrom(it) => it.module.iter().for_each(|name| self.check_name(name)),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) => {
                self.check_name(&it.id);
                if it.ctx != ExprContext::Load {
                    self.bind(&it.id);
                }
            }
            // `asyncio.gather = …` changes the meaning of a name as well.
            Expr::Attribute(it) => {
                self.check_name(&it.attr);
                self.removes_items |= REMOVING_METHODS.contains(&it.attr.as_str());
                if it.ctx != ExprContext::Load {
                    self.bind(&it.attr);
                }
            }
            // `rows[:] = []` empties a list.
            Expr::Subscript(it) if it.slice.is_slice_expr() => {
                self.removes_items |= it.ctx != ExprContext::Load;
            }
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        let name = alias.name.as_str();
        self.has_invisible_bindings |= name == "*";
        for part in name.split('.') {
            self.check_name(part);
        }
        let first = name.split('.').next().unwrap_or(name);
        match &alias.asname {
            Some(other) => self.bind(other),
            None => {
                self.bind(first);
                *self.imported.entry(first).or_default() += 1;
            }
        }
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.bind(&parameter.name);
        walk_parameter(self, parameter);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(it) = handler;
        it.name.iter().for_each(|name| self.bind(name));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(it) => it.name.as_ref(),
            Pattern::MatchStar(it) => it.name.as_ref(),
            Pattern::MatchMapping(it) => it.rest.as_ref(),
            _ => None,
        };
        name.into_iter().for_each(|name| self.bind(name));
        walk_pattern(self, pattern);
    }

    fn visit_type_param(&mut self, parameter: &'a TypeParam) {
        self.bind(match parameter {
            TypeParam::TypeVar(it) => &it.name,
            TypeParam::TypeVarTuple(it) => &it.name,
            TypeParam::ParamSpec(it) => &it.name,
        });
        walk_type_param(self, parameter);
    }
}
