//! Makes a script of a module, because the value of a script's last expression is known and the
//! variables of one script are visible to the next one of a session. Text is replaced in place, so
//! that most positions stay as they are.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ExportDefaultDeclarationKind, ImportDeclaration, ImportDeclarationSpecifier, ImportMeta,
    Program, Statement, VariableDeclarationKind,
};
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};

/// Whether later programs will see the variables of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variables {
    /// They end with the program.
    Dropped,
    /// They are kept for the next program of the session, which may define them anew.
    Kept,
}

/// The script for JavaScript code that may be a module. Code that cannot be parsed stays unchanged.
pub(super) fn script(code: String, variables: Variables) -> String {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &code, SourceType::mjs()).parse();
    if !parsed.diagnostics.is_empty() {
        return code;
    }
    let mut edits = Edits { code: &code, replaced: Vec::new() };
    edits.visit_program(&parsed.program);
    edits.statements(&parsed.program, variables);
    let Edits { mut replaced, .. } = edits;
    if replaced.is_empty() {
        return code;
    }
    replaced.sort_by_key(|(span, _)| span.start);
    let mut script = String::with_capacity(code.len());
    let mut end = 0;
    for (span, text) in replaced {
        let (start, next) = (offset(span.start), offset(span.end));
        script.push_str(code.get(end..start).unwrap_or_default());
        script.push_str(&text);
        end = next;
    }
    script.push_str(code.get(end..).unwrap_or_default());
    script
}

fn offset(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

struct Edits<'s> {
    code: &'s str,
    /// Parts of the code, which do not overlap, and what takes their places.
    replaced: Vec<(Span, String)>,
}

impl Edits<'_> {
    fn statements(&mut self, program: &Program<'_>, variables: Variables) {
        for statement in &program.body {
            match statement {
                Statement::ImportDeclaration(it) => self.import(it),
                Statement::ExportDefaultDeclaration(it) => {
                    let is_declaration = match &it.declaration {
                        ExportDefaultDeclarationKind::FunctionDeclaration(it) => it.id.is_some(),
                        ExportDefaultDeclarationKind::ClassDeclaration(it) => it.id.is_some(),
                        _ => false,
                    };
                    let end = it.declaration.span().start;
                    let text = if is_declaration { "" } else { "0," };
                    self.replace(Span::new(it.span.start, end), text.to_owned());
                }
                Statement::ExportNamedDeclaration(it) => self.replace(it.span, String::new()),
                Statement::ExportDeclaration(it) => {
                    let end = it.declaration.span().start;
                    self.replace(Span::new(it.span.start, end), String::new());
                }
                Statement::VariableDeclaration(it) if variables == Variables::Kept => {
                    let length = match it.kind {
                        VariableDeclarationKind::Const => 5,
                        VariableDeclarationKind::Let => 3,
                        _ => continue,
                    };
                    let start = it.span.start;
                    self.replace(Span::new(start, start + length), "var".to_owned());
                }
                Statement::ClassDeclaration(it) if variables == Variables::Kept => {
                    if let Some(id) = &it.id {
                        let text = format!("var {} = ", id.name);
                        self.replace(Span::new(it.span.start, it.span.start), text);
                        self.replace(Span::new(it.span.end, it.span.end), ";".to_owned());
                    }
                }
                _ => {}
            }
        }
    }

    fn replace(&mut self, span: Span, mut text: String) {
        // Lines keep their numbers, and columns where there is room.
        let original = self.code.get(offset(span.start)..offset(span.end)).unwrap_or_default();
        let lines = original.matches('\n').count();
        let padding = original.len().saturating_sub(text.len());
        match lines {
            0 => text.push_str(&" ".repeat(padding)),
            _ => text.push_str(&"\n".repeat(lines)),
        }
        self.replaced.push((span, text));
    }

    /// `import { a as b } from "m"` becomes `var { a: b } = await import("m");`.
    fn import(&mut self, import: &ImportDeclaration<'_>) {
        let module = match self.code.get(span_range(import.source.span)) {
            Some(module) => format!("await import({module})"),
            None => return,
        };
        let mut parts = Vec::new();
        let mut whole = Vec::new();
        for specifier in import.specifiers.iter().flatten() {
            match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(it) => {
                    let imported = self.code.get(span_range(it.imported.span()));
                    parts.push(format!("{}: {}", imported.unwrap_or_default(), it.local.name));
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => {
                    parts.push(format!("default: {}", it.local.name));
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => {
                    whole.push(it.local.name.to_string());
                }
            }
        }
        let mut text = String::new();
        for name in &whole {
            text.push_str(&format!("var {name} = {module};"));
        }
        if !parts.is_empty() {
            text.push_str(&format!("var {{ {} }} = {module};", parts.join(", ")));
        }
        if text.is_empty() {
            text = format!("{module};");
        }
        self.replace(import.span, text);
    }
}

fn span_range(span: Span) -> std::ops::Range<usize> {
    offset(span.start)..offset(span.end)
}

impl<'a> Visit<'a> for Edits<'_> {
    // A script has no `import.meta`; a program that asks is the main module.
    fn visit_import_meta(&mut self, it: &ImportMeta) {
        self.replace(it.span, "({main:1})".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_becomes_a_script_with_the_same_lines() {
        for (code, dropped, kept) in [
            (
                "const a = 1;\nlet b = 2; a + b",
                "const a = 1;\nlet b = 2; a + b",
                "var   a = 1;\nvar b = 2; a + b",
            ),
            (
                "import { a, b as c } from \"./servers/x\";\na",
                "var { a: a, b: c } = await import(\"./servers/x\");\na",
                "var { a: a, b: c } = await import(\"./servers/x\");\na",
            ),
            ("import * as x from 'm'", "var x = await import('m');", "var x = await import('m');"),
            (
                "for (const x of y) { const z = 1 }",
                "for (const x of y) { const z = 1 }",
                "for (const x of y) { const z = 1 }",
            ),
            ("class A {}", "class A {}", "var A = class A {};"),
            ("export const a = 1", "       const a = 1", "       const a = 1"),
            (
                "export default async function main() {}",
                "               async function main() {}",
                "               async function main() {}",
            ),
            ("if (import.meta.main) f()", "if (({main:1}) .main) f()", "if (({main:1}) .main) f()"),
        ] {
            assert_eq!(script(code.to_owned(), Variables::Dropped), dropped, "{code}");
            assert_eq!(script(code.to_owned(), Variables::Kept), kept, "{code}");
        }
    }
}
