//! Finds the tools that a TypeScript program may call.

use oxc_ast::ast::{
    ArrowFunctionExpression, DoWhileStatement, Expression, ForInStatement, ForOfStatement,
    ForStatement, Function, IdentifierReference, ImportDeclaration, Program,
    StaticMemberExpression, TSTypeAnnotation, WhileStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::Span;
use oxc_syntax::scope::ScopeFlags;

use super::names::{BoundNames, ToolReference};
use super::wrapper::unwrapped;
use crate::program::lines::SourceLines;
use crate::program::{TOOLS, ToolUse, ToolUses};

/// The tools that a program may call.
pub(super) fn tool_uses(program: &Program<'_>, lines: &SourceLines<'_>) -> ToolUses {
    let names = BoundNames::of(program);
    let may_call_others = !names.are_all_visible() || names.imports_any_tool();
    let mut uses = ToolUseCollector {
        names: &names,
        lines,
        found: ToolUses { named: Vec::new(), may_call_others },
        loops: 0,
        functions: 0,
    };
    uses.visit_program(program);
    uses.found.named.sort_by_key(|found| found.line);
    uses.found
}

struct ToolUseCollector<'s, 'a> {
    names: &'s BoundNames<'a>,
    lines: &'s SourceLines<'s>,
    found: ToolUses,
    loops: usize,
    functions: usize,
}

impl ToolUseCollector<'_, '_> {
    fn record_use(&mut self, tool: &ToolReference<'_>, at: Span) {
        self.found.named.push(ToolUse {
            name: tool.lookup_name(),
            line: self.lines.number(usize::try_from(at.start).unwrap_or_default()),
            in_loop: self.loops > 0,
            in_function: self.functions > 0,
        });
    }

    fn in_loop(&mut self, walk: impl FnOnce(&mut Self)) {
        self.loops += 1;
        walk(self);
        self.loops -= 1;
    }

    fn in_function(&mut self, walk: impl FnOnce(&mut Self)) {
        self.functions += 1;
        walk(self);
        self.functions -= 1;
    }
}

impl<'a> Visit<'a> for ToolUseCollector<'_, 'a> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let name = it.name.as_str();
        if let Some(tool) = self.names.tool_named(name) {
            self.record_use(&tool, it.span);
        }
        // Any use of such an object other than an attribute access.
        self.found.may_call_others |= self.names.is_tool_object(name);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        let object = match unwrapped(&it.object) {
            Expression::Identifier(object) if self.names.is_tool_object(object.name.as_str()) => {
                object.name.as_str()
            }
            _ => return walk::walk_static_member_expression(self, it),
        };
        let name = it.property.name.as_str();
        match self.names.attribute_of(object, name) {
            Some(tool) => self.record_use(&tool, it.span),
            // `tools.search` finds tools and calls none.
            None => self.found.may_call_others |= object == TOOLS && name != "search",
        }
    }

    // What the names in an annotation refer to are types.
    fn visit_ts_type_annotation(&mut self, _it: &TSTypeAnnotation<'a>) {}

    fn visit_import_declaration(&mut self, _it: &ImportDeclaration<'a>) {}

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        self.visit_expression(&it.right);
        self.in_loop(|uses| uses.visit_statement(&it.body));
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.visit_expression(&it.right);
        self.in_loop(|uses| uses.visit_statement(&it.body));
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        it.init.iter().for_each(|init| self.visit_for_statement_init(init));
        self.in_loop(|uses| {
            it.test.iter().for_each(|test| uses.visit_expression(test));
            it.update.iter().for_each(|update| uses.visit_expression(update));
            uses.visit_statement(&it.body);
        });
    }

    fn visit_while_statement(&mut self, it: &WhileStatement<'a>) {
        self.in_loop(|uses| walk::walk_while_statement(uses, it));
    }

    fn visit_do_while_statement(&mut self, it: &DoWhileStatement<'a>) {
        self.in_loop(|uses| walk::walk_do_while_statement(uses, it));
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.in_function(|uses| walk::walk_function(uses, it, flags));
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.in_function(|uses| walk::walk_arrow_function_expression(uses, it));
    }
}
