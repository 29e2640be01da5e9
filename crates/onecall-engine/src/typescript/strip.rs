//! Converts TypeScript into JavaScript: types are removed and not checked.
//!
//! A source that is JavaScript already stays unchanged, so its positions are valid as they are. Any
//! other source is generated anew, with a map back to the author's positions.

use std::path::Path;

use onecall_catalog::nesting_depth;
use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::Program;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{Parser, ParserReturn};
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::{GetSpan, SourceType};
use oxc_syntax::module_record::{ImportImportName, ModuleRecord};
use oxc_syntax::operator::UnaryOperator;
use oxc_transformer::{HelperLoaderMode, TransformOptions, Transformer};

use super::positions::{Position, PositionMap, position_of};
use super::returns::{Wrapped, wrap};
use super::script::{Variables, script};

/// The file name of the program in all messages.
pub(super) const PROGRAM: &str = "<program>";

/// A program that can be run.
#[derive(Debug)]
pub(super) struct Stripped {
    /// The JavaScript code.
    pub(super) code: String,
    /// The mapping from the code to the author's source.
    pub(super) position_map: PositionMap,
    /// Names that the program uses but does not define.
    pub(super) free_names: Vec<FreeName>,
    /// The names that it imports, and from where.
    pub(super) imports: Vec<Import>,
}

/// A name that the program uses but does not define.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FreeName {
    pub(super) name: String,
    /// Whether the program tests by `typeof` if the name exists.
    pub(super) is_tested_by_typeof: bool,
}

/// One imported name; `name` is `None` if the whole module or its default export is imported.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) module: String,
    pub(super) name: Option<String>,
    /// The position of the name, or else of the module.
    pub(super) position: Position,
}

/// Why a source is not a valid program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxProblem {
    pub(super) message: String,
    pub(super) position: Option<Position>,
}

/// Removes the types from `source` and makes it a script.
pub(super) fn strip(source: &str, variables: Variables) -> Result<Stripped, SyntaxProblem> {
    if nesting_depth(source).is_none() {
        let message = "the program is nested too deeply".to_owned();
        return Err(SyntaxProblem { message, position: None });
    }
    let stripped = strip_module(source).or_else(|problem| match wrap(source) {
        Some(wrapped) => strip_wrapped(source, &wrapped),
        None => Err(problem),
    })?;
    Ok(Stripped { code: script(stripped.code, variables), ..stripped })
}

/// Removes the types from a program that was wrapped into a function.
fn strip_wrapped(source: &str, wrapped: &Wrapped) -> Result<Stripped, SyntaxProblem> {
    let Wrapped { code, position, shift } = wrapped;
    let unshifted = |position_map: PositionMap| position_map.shifted(source, *position, *shift);
    match strip_module(code) {
        Ok(stripped) => Ok(Stripped { position_map: unshifted(stripped.position_map), ..stripped }),
        Err(SyntaxProblem { message, position }) => {
            let position_map = unshifted(PositionMap::unchanged(source));
            Err(SyntaxProblem {
                message,
                position: position.map(|position| position_map.original(position)),
            })
        }
    }
}

fn strip_module(source: &str) -> Result<Stripped, SyntaxProblem> {
    let allocator = Allocator::default();
    let javascript = Parser::new(&allocator, source, SourceType::mjs()).parse();
    if javascript.diagnostics.is_empty() {
        let analysis = analyse(&javascript.program, source)?;
        if !uses_decorators(&analysis) && !may_have_type_arguments(&analysis, source) {
            let free_names = free_names(&analysis);
            let imports = imports(&javascript.module_record, source);
            let position_map = PositionMap::unchanged(source);
            return Ok(Stripped { code: source.to_owned(), position_map, free_names, imports });
        }
    }
    let parsed = Parser::new(&allocator, source, SourceType::ts().with_module(true)).parse();
    if let Some(error) = parsed.diagnostics.first() {
        return Err(problem(error, source));
    }
    let ParserReturn { mut program, module_record, .. } = parsed;
    let free_names = free_names(&analyse(&program, source)?);
    let code = transform(&allocator, &mut program, source)?;
    let (code, position_map) = code;
    // Imports of types are gone by now; the remaining ones have to exist.
    let left = Parser::new(&allocator, allocator.alloc_str(&code), SourceType::mjs()).parse();
    let kept = |import: &Import| {
        left.module_record.import_entries.iter().any(|entry| {
            entry.module_request.name.as_str() == import.module
                && imported_name(&entry.import_name).as_deref() == import.name.as_deref()
        })
    };
    let imports = imports(&module_record, source).into_iter().filter(kept).collect();
    Ok(Stripped { code, position_map, free_names, imports })
}

fn transform<'a>(
    allocator: &'a Allocator,
    program: &mut Program<'a>,
    source: &str,
) -> Result<(String, PositionMap), SyntaxProblem> {
    let scoping = SemanticBuilder::new()
        .with_excess_capacity(2.0)
        .with_enum_eval(true)
        .build(program)
        .semantic
        .into_scoping();
    let mut options = TransformOptions::default();
    options.decorator.legacy = true;
    options.helper_loader.mode = HelperLoaderMode::External;
    let path = Path::new(PROGRAM);
    let transformed =
        Transformer::new(allocator, path, &options).build_with_scoping(scoping, program);
    if let Some(error) = transformed.diagnostics.first() {
        return Err(problem(error, source));
    }
    let options =
        CodegenOptions { source_map_path: Some(path.to_owned()), ..CodegenOptions::default() };
    let generated = Codegen::new().with_options(options).build(program);
    let position_map = PositionMap::mapped(source, generated.map.as_ref());
    Ok((generated.code, position_map))
}

fn analyse<'a>(program: &'a Program<'a>, source: &str) -> Result<Semantic<'a>, SyntaxProblem> {
    let builder = SemanticBuilder::new().with_build_nodes(true).with_check_syntax_error(true);
    let analysis = builder.build(program);
    match analysis.diagnostics.first() {
        Some(error) => Err(problem(error, source)),
        None => Ok(analysis.semantic),
    }
}

/// Whether the program uses decorators, which QuickJS does not support.
fn uses_decorators(analysis: &Semantic<'_>) -> bool {
    analysis.nodes().iter().any(|node| matches!(node.kind(), AstKind::Decorator(_)))
}

/// Whether comparisons may be meant as type arguments, which are written without spaces:
/// `call<Row>(name)` is also valid JavaScript, where it is a comparison.
fn may_have_type_arguments(analysis: &Semantic<'_>, source: &str) -> bool {
    let between = |start: u32, end: u32| {
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        Some((source.get(start..end)?, source.get(end..)?))
    };
    let (mut opens, mut closes) = (false, false);
    for node in analysis.nodes().iter() {
        let AstKind::BinaryExpression(it) = node.kind() else { continue };
        match between(it.left.span().end, it.right.span().start) {
            Some(("<", _)) => opens = true,
            // Type arguments are followed by an argument list or a template.
            Some((">" | ">>" | ">>>", right)) => closes |= right.starts_with(['(', '`']),
            _ => {}
        }
    }
    opens && closes
}

fn free_names(analysis: &Semantic<'_>) -> Vec<FreeName> {
    let scoping = analysis.scoping();
    let is_tested_by_typeof = |reference: &oxc_syntax::reference::ReferenceId| {
        let node = scoping.get_reference(*reference).node_id();
        matches!(analysis.nodes().parent_kind(node), AstKind::UnaryExpression(expression)
            if expression.operator == UnaryOperator::Typeof)
    };
    let is_a_value = |reference: &oxc_syntax::reference::ReferenceId| {
        !scoping.get_reference(*reference).is_type()
    };
    let names = scoping.root_unresolved_references().iter();
    let names = names.filter(|(_, references)| references.iter().any(is_a_value));
    names
        .map(|(name, references)| FreeName {
            name: name.to_string(),
            is_tested_by_typeof: references.iter().any(is_tested_by_typeof),
        })
        .collect()
}

fn imports(record: &ModuleRecord<'_>, source: &str) -> Vec<Import> {
    let entries = record.import_entries.iter().filter(|entry| !entry.is_type);
    entries
        .map(|entry| Import {
            module: entry.module_request.name.to_string(),
            name: imported_name(&entry.import_name),
            position: position_of(
                source,
                match &entry.import_name {
                    ImportImportName::Name(name) => name.span.start,
                    _ => entry.module_request.span.start,
                },
            ),
        })
        .collect()
}

fn imported_name(name: &ImportImportName<'_>) -> Option<String> {
    match name {
        ImportImportName::Name(name) => Some(name.name.to_string()),
        ImportImportName::NamespaceObject | ImportImportName::Default(_) => None,
    }
}

fn problem(error: &OxcDiagnostic, source: &str) -> SyntaxProblem {
    let mut message = error.message.to_string();
    if let Some(help) = &error.help {
        message.push_str(&format!(" ({help})"));
    }
    let position = error.labels.first().map(|label| position_of(source, label.offset()));
    SyntaxProblem { message, position }
}
