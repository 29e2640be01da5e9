//! Collects the names that functions, classes, lambdas and comprehensions take from around them.

use std::collections::HashSet;

use ruff_python_ast::visitor::{
    Visitor, walk_body, walk_except_handler, walk_expr, walk_pattern, walk_stmt, walk_type_params,
};
use ruff_python_ast::{
    Alias, AnyParameterRef, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt,
    StmtClassDef, StmtFunctionDef, StringLiteral, TypeParams,
};

use super::ComprehensionParts;
use super::bindings::captured_name;

/// The names of the top level that inner scopes may use. A name that is in doubt is included.
pub(super) fn names_used_inside(body: &[Stmt]) -> HashSet<&str> {
    let mut search = ScopeSearch::default();
    search.visit_body(body);
    search.used_inside
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Function,
    /// The names that a class binds are not visible in its methods, and it may use a name of the top
    /// level before it binds the same name.
    Class,
    Comprehension,
}

struct Scope<'a> {
    kind: ScopeKind,
    bound: HashSet<&'a str>,
    used: HashSet<&'a str>,
}

#[derive(Default)]
struct ScopeSearch<'a> {
    /// The scopes around the current node, the innermost last; empty at the top level.
    scopes: Vec<Scope<'a>>,
    used_inside: HashSet<&'a str>,
}

impl<'a> ScopeSearch<'a> {
    fn in_scope(&mut self, kind: ScopeKind, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(Scope { kind, bound: HashSet::new(), used: HashSet::new() });
        visit(self);
        let Some(Scope { kind, bound, mut used }) = self.scopes.pop() else { return };
        if kind != ScopeKind::Class {
            used.retain(|name| !bound.contains(name));
        }
        match self.scopes.last_mut() {
            Some(outer) => outer.used.extend(used),
            None => self.used_inside.extend(used),
        }
    }

    fn bind(&mut self, name: &'a str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.bound.insert(name);
        }
    }

    fn use_name(&mut self, name: &'a str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.used.insert(name);
        }
    }

    fn is_in_comprehension(&self) -> bool {
        self.scopes.last().is_some_and(|scope| scope.kind == ScopeKind::Comprehension)
    }

    /// Includes every name in an expression, whose scope is not the one around it.
    fn include_all(&mut self, expr: &'a Expr) {
        AllNames { names: &mut self.used_inside }.visit_expr(expr);
    }

    fn visit_defaults(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
    }

    fn bind_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter().map(AnyParameterRef::as_parameter) {
            self.bind(&parameter.name);
        }
    }

    fn visit_function(&mut self, function: &'a StmtFunctionDef) {
        self.bind(&function.name);
        function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        let parameters = &*function.parameters;
        self.visit_defaults(parameters);
        for parameter in parameters.iter().map(AnyParameterRef::as_parameter) {
            parameter.annotation.iter().for_each(|it| self.visit_annotation(it));
        }
        function.returns.iter().for_each(|it| self.visit_annotation(it));
        if let Some(type_parameters) = &function.type_params {
            self.visit_type_params(type_parameters);
            let defaults = parameters.iter_non_variadic_params().filter_map(|it| it.default());
            defaults.for_each(|default| self.include_all(default));
        }
        self.in_scope(ScopeKind::Function, |search| {
            search.bind_parameters(parameters);
            walk_body(search, &function.body);
        });
    }

    fn visit_class(&mut self, class: &'a StmtClassDef) {
        self.bind(&class.name);
        class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
            if class.type_params.is_some() {
                arguments.args.iter().for_each(|it| self.include_all(it));
                arguments.keywords.iter().for_each(|it| self.include_all(&it.value));
            }
        }
        class.type_params.iter().for_each(|it| self.visit_type_params(it));
        self.in_scope(ScopeKind::Class, |search| walk_body(search, &class.body));
    }

    fn visit_parts(&mut self, parts: &ComprehensionParts<'a>) {
        parts.first_iterable().into_iter().for_each(|it| self.visit_expr(it));
        self.in_scope(ScopeKind::Comprehension, |search| {
            for (position, generator) in parts.generators.iter().enumerate() {
                if position > 0 {
                    search.visit_expr(&generator.iter);
                }
                search.visit_expr(&generator.target);
                generator.ifs.iter().for_each(|it| search.visit_expr(it));
            }
            parts.elements.iter().for_each(|it| search.visit_expr(it));
        });
    }
}

impl<'a> Visitor<'a> for ScopeSearch<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(it) => self.visit_function(it),
            Stmt::ClassDef(it) => self.visit_class(it),
            Stmt::TypeAlias(it) => {
                self.include_all(&it.value);
                it.type_params.iter().for_each(|it| self.visit_type_params(it));
            }
            // A variable that is declared in this way may be one of the top level.
            Stmt::Global(it) => self.used_inside.extend(it.names.iter().map(|name| name.as_str())),
            Stmt::Nonlocal(it) => {
                self.used_inside.extend(it.names.iter().map(|name| name.as_str()));
            }
            _ => walk_stmt(self, stmt),
        }
    }

    /// Includes the names of an annotation, which may be evaluated later or be a text.
    fn visit_annotation(&mut self, annotation: &'a Expr) {
        self.include_all(annotation);
    }

    fn visit_type_params(&mut self, parameters: &'a TypeParams) {
        walk_type_params(&mut AllNames { names: &mut self.used_inside }, parameters);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) => match it.ctx {
                ExprContext::Load | ExprContext::Invalid => self.use_name(&it.id),
                ExprContext::Store | ExprContext::Del => self.bind(&it.id),
            },
            // In a comprehension, this binds a name of the scope around it.
            Expr::Named(it) if self.is_in_comprehension() => {
                self.include_all(&it.target);
                self.visit_expr(&it.value);
            }
            Expr::Lambda(it) => {
                it.parameters.iter().for_each(|parameters| self.visit_defaults(parameters));
                self.in_scope(ScopeKind::Function, |search| {
                    it.parameters.iter().for_each(|parameters| search.bind_parameters(parameters));
                    search.visit_expr(&it.body);
                });
            }
            _ => match ComprehensionParts::of(expr) {
                Some(parts) => self.visit_parts(&parts),
                None => walk_expr(self, expr),
            },
        }
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
        self.bind(name.split('.').next().unwrap_or(name));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(it) = handler;
        it.name.iter().for_each(|name| self.bind(name));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        captured_name(pattern).into_iter().for_each(|name| self.bind(name));
        walk_pattern(self, pattern);
    }
}

/// Collects all names in an expression, and the words of its texts.
struct AllNames<'b, 'a> {
    names: &'b mut HashSet<&'a str>,
}

impl<'a> Visitor<'a> for AllNames<'_, 'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(it) = expr {
            self.names.insert(&it.id);
        }
        walk_expr(self, expr);
    }

    fn visit_string_literal(&mut self, text: &'a StringLiteral) {
        let is_in_name = |character: char| character == '_' || character.is_alphanumeric();
        self.names.extend(text.value.split(|character| !is_in_name(character)));
    }
}
