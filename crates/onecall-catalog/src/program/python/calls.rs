//! Finds the tools that a Python program may call.

use ruff_python_ast::visitor::{Visitor, walk_comprehension, walk_expr, walk_stmt};
use ruff_python_ast::{Comprehension, Expr, ExprAttribute, ExprContext, Stmt};
use ruff_text_size::Ranged;

use super::names::BoundNames;
use super::parse::SyntaxTreeView;
use crate::program::lines::SourceLines;
use crate::program::{TOOLS, ToolUse, ToolUses};

/// The tools that a program may call; `None` if it has a syntax error.
pub(in crate::program) fn tool_uses(parsed: &SyntaxTreeView<'_>) -> Option<ToolUses> {
    if parsed.error.is_some() {
        return None;
    }
    let names = BoundNames::of(parsed.body);
    let mut uses = ToolUseCollector {
        names: &names,
        lines: parsed.lines,
        found: ToolUses { named: Vec::new(), may_call_others: !names.are_all_visible() },
        loops: 0,
        functions: 0,
    };
    uses.visit_body(parsed.body);
    uses.found.named.sort_by_key(|found| found.line);
    Some(uses.found)
}

struct ToolUseCollector<'a> {
    names: &'a BoundNames<'a>,
    lines: &'a SourceLines<'a>,
    found: ToolUses,
    loops: usize,
    functions: usize,
}

impl ToolUseCollector<'_> {
    fn record_use(&mut self, name: &str, at: &impl Ranged) {
        self.found.named.push(ToolUse {
            name: name.to_owned(),
            line: self.lines.number(at.start().to_usize()),
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

    /// Visits a comprehension. Its first iterable is evaluated once.
    fn comprehension<'a>(&mut self, generators: &'a [Comprehension], each: &[&'a Expr]) {
        let Some((first, rest)) = generators.split_first() else { return };
        self.visit_expr(&first.iter);
        self.in_loop(|uses| {
            first.ifs.iter().for_each(|test| uses.visit_expr(test));
            rest.iter().for_each(|generator| walk_comprehension(uses, generator));
            each.iter().for_each(|expr| uses.visit_expr(expr));
        });
    }
}

impl<'a> Visitor<'a> for ToolUseCollector<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::For(it) => {
                self.visit_expr(&it.iter);
                self.in_loop(|uses| uses.visit_body(&it.body));
                self.visit_body(&it.orelse);
            }
            Stmt::While(it) => {
                self.in_loop(|uses| {
                    uses.visit_expr(&it.test);
                    uses.visit_body(&it.body);
                });
                self.visit_body(&it.orelse);
            }
            Stmt::FunctionDef(_) => self.in_function(|uses| walk_stmt(uses, stmt)),
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(it) if it.ctx == ExprContext::Load && self.names.may_be_tool(&it.id) => {
                self.record_use(&it.id, it);
            }
            // Any use of `tools` other than an attribute access.
            Expr::Name(it) if it.id == TOOLS && !self.names.is_bound(TOOLS) => {
                self.found.may_call_others = true;
            }
            Expr::Attribute(it) => match self.names.tool_of(expr) {
                Some((name, _)) => self.record_use(name, it),
                None if is_search(it) && !self.names.is_bound(TOOLS) => {}
                None => walk_expr(self, expr),
            },
            Expr::ListComp(it) => self.comprehension(&it.generators, &[&it.elt]),
            Expr::SetComp(it) => self.comprehension(&it.generators, &[&it.elt]),
            Expr::Generator(it) => self.comprehension(&it.generators, &[&it.elt]),
            Expr::DictComp(it) => {
                let parts: Vec<&Expr> = it.key.as_deref().into_iter().chain([&*it.value]).collect();
                self.comprehension(&it.generators, &parts);
            }
            Expr::Lambda(_) => self.in_function(|uses| walk_expr(uses, expr)),
            _ => walk_expr(self, expr),
        }
    }
}

/// Whether this is `tools.search`, which finds tools and calls none.
fn is_search(attribute: &ExprAttribute) -> bool {
    attribute.attr.as_str() == "search"
        && matches!(&*attribute.value, Expr::Name(it) if it.id == TOOLS)
}
