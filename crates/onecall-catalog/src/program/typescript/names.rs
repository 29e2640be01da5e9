//! Collects the names that a TypeScript program binds, and what it imports. A bound name is not a
//! tool, wherever the program binds it, unless it is an imported tool.

use std::collections::{HashMap, HashSet};

use onecall_core::ToolCategory;
use oxc_ast::ast::{
    AssignmentTargetPropertyIdentifier, AssignmentTargetPropertyProperty, BinaryExpression,
    BindingIdentifier, BindingProperty, Expression, IdentifierReference, ImportDeclaration,
    ImportDeclarationSpecifier, ImportExpression, Program, PropertyKey, SimpleAssignmentTarget,
    StaticMemberExpression, StringLiteral, TSClassImplements, TSInterfaceHeritage, TSType,
    TemplateElement, UnaryExpression,
};
use oxc_ast_visit::{Visit, walk};
use oxc_syntax::operator::{BinaryOperator, UnaryOperator};

use super::import_target::ImportTarget;
use super::wrapper::unwrapped;
use crate::program::{TOOL_PREFIX, TOOLS};

/// The attributes of `tools` that are not tools.
const OWN_ATTRIBUTES: [&str; 3] = ["search", "then", "toJSON"];

/// The property of a value that is the function that made it.
const CONSTRUCTOR: &str = "constructor";

/// The class of all functions, which makes functions of text.
const FUNCTION: &str = "Function";

/// Names that allow a program to bind other names invisibly.
const INVISIBLE_BINDERS: [&str; 4] = [FUNCTION, CONSTRUCTOR, "eval", "globalThis"];

/// Names with which a program can give values properties that they do not have by themselves.
const PROPERTY_MAKERS: [&str; 6] =
    ["__proto__", "assign", "defineProperties", "defineProperty", "prototype", "setPrototypeOf"];

/// Methods that remove items from an array, a map or a set.
const REMOVING_METHODS: [&str; 6] = ["clear", "delete", "deleteProperty", "pop", "shift", "splice"];

/// The functions of the client module that call a tool by its name.
const CALLS_BY_NAME: [&str; 2] = ["call", "callMCPTool"];

/// What a name is that a program imports.
#[derive(Clone, Copy)]
enum Imported<'a> {
    /// A tool of a server.
    Tool { server: &'a str, name: &'a str },
    /// The tools of a server, as the properties of an object.
    Server(&'a str),
}

/// The names that a program binds.
#[derive(Default)]
pub(super) struct BoundNames<'a> {
    /// How often each name is bound.
    bound: HashMap<&'a str, usize>,
    /// The properties that the program assigns to; they count as bound, too.
    assigned_properties: HashSet<&'a str>,
    imported: HashMap<&'a str, Imported<'a>>,
    /// Whether names may be bound in ways that cannot be analysed.
    has_invisible_bindings: bool,
    /// Whether values may get properties and methods in ways that cannot be analysed.
    makes_properties: bool,
    /// Whether items may be removed from an array, a map, a set or an object.
    removes_items: bool,
    /// Whether the program imports something that reaches tools by computed names.
    imports_any_tool: bool,
}

/// A tool as a program refers to it.
pub(super) enum ToolReference<'a> {
    /// By its callable name.
    Global(&'a str),
    /// As an attribute of `tools`.
    Attribute(&'a str),
    /// By a name that is imported from a server.
    Import { server: &'a str, name: &'a str },
}

impl ToolReference<'_> {
    /// The name under which a [`ToolLookup`](crate::ToolLookup) finds the tool.
    pub(super) fn lookup_name(&self) -> String {
        match self {
            Self::Global(name) | Self::Attribute(name) => (*name).to_owned(),
            Self::Import { server, name } => format!("{server}/{name}"),
        }
    }
}

impl<'a> BoundNames<'a> {
    pub(super) fn of(program: &Program<'a>) -> Self {
        let mut names = Self::default();
        names.visit_program(program);
        names
    }

    /// Whether all bindings of names are visible in the source.
    pub(super) fn are_all_visible(&self) -> bool {
        !self.has_invisible_bindings
    }

    /// Whether the program imports functions that can call any tool.
    pub(super) fn imports_any_tool(&self) -> bool {
        self.imports_any_tool
    }

    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.bound.contains_key(name)
    }

    /// Whether a name is bound exactly once.
    pub(super) fn is_bound_once(&self, name: &str) -> bool {
        self.bound.get(name) == Some(&1)
    }

    /// Whether values have only the properties and methods that the source shows.
    pub(super) fn knows_properties(&self) -> bool {
        !self.makes_properties
    }

    /// Whether the program may remove items from an array, a map, a set or an object.
    pub(super) fn removes_items(&self) -> bool {
        self.removes_items
    }

    /// The object and the name of a method of a global object that the program does not change.
    pub(super) fn global_method(&self, callee: &Expression<'a>) -> Option<(&'a str, &'a str)> {
        let Expression::StaticMemberExpression(it) = callee else { return None };
        let Expression::Identifier(object) = unwrapped(&it.object) else { return None };
        let (object, name) = (object.name.as_str(), it.property.name.as_str());
        let is_changed = self.is_bound(object) || self.assigned_properties.contains(name);
        (!is_changed).then_some((object, name))
    }

    /// The tool that an expression refers to, if it refers to one by a name.
    pub(super) fn tool_of(&self, expression: &Expression<'a>) -> Option<ToolReference<'a>> {
        match unwrapped(expression) {
            Expression::Identifier(it) => self.tool_named(it.name.as_str()),
            Expression::StaticMemberExpression(it) => {
                let Expression::Identifier(object) = unwrapped(&it.object) else { return None };
                self.attribute_of(object.name.as_str(), it.property.name.as_str())
            }
            _ => None,
        }
    }

    /// The tool that an attribute of an object with tools refers to.
    pub(super) fn attribute_of(&self, object: &str, name: &'a str) -> Option<ToolReference<'a>> {
        if object == TOOLS && !self.is_bound(TOOLS) {
            let is_tool = !OWN_ATTRIBUTES.contains(&name);
            return is_tool.then_some(ToolReference::Attribute(name));
        }
        match self.import(object)? {
            Imported::Server(server) => Some(ToolReference::Import { server, name }),
            Imported::Tool { .. } => None,
        }
    }

    /// The tool that a name alone refers to.
    pub(super) fn tool_named(&self, name: &'a str) -> Option<ToolReference<'a>> {
        if name.starts_with(TOOL_PREFIX) && !self.is_bound(name) {
            return Some(ToolReference::Global(name));
        }
        match self.import(name)? {
            Imported::Tool { server, name } => Some(ToolReference::Import { server, name }),
            Imported::Server(_) => None,
        }
    }

    /// Whether a name is an object with all tools, or with all tools of a server.
    pub(super) fn is_tool_object(&self, name: &str) -> bool {
        (name == TOOLS && !self.is_bound(TOOLS))
            || matches!(self.import(name), Some(Imported::Server(_)))
    }

    fn import(&self, name: &str) -> Option<Imported<'a>> {
        self.imported.get(name).filter(|_| self.is_bound_once(name)).copied()
    }

    fn bind(&mut self, name: &'a str) {
        *self.bound.entry(name).or_default() += 1;
    }

    fn check_name(&mut self, name: &str) {
        self.has_invisible_bindings |= INVISIBLE_BINDERS.contains(&name);
    }

    /// Takes note of a property that is read.
    fn read_property(&mut self, name: &str) {
        self.check_name(name);
        self.makes_properties |= PROPERTY_MAKERS.contains(&name);
        self.removes_items |= REMOVING_METHODS.contains(&name);
    }

    /// Takes note of a property that a pattern takes out of a value.
    fn take_out(&mut self, key: &PropertyKey<'a>) {
        if let PropertyKey::StaticIdentifier(key) = key {
            self.read_property(key.name.as_str());
        }
    }

    /// What a default import or an import of everything is.
    fn whole_module(target: ImportTarget<'a>) -> Option<Imported<'a>> {
        match target {
            ImportTarget::Server(server) => Some(Imported::Server(server)),
            ImportTarget::Part { server, part: name }
            | ImportTarget::InCategory { server, tool: name, .. } => {
                let is_category = ToolCategory::NAMES.iter().any(|(it, _)| *it == name);
                Some(match is_category {
                    true => Imported::Server(server),
                    false => Imported::Tool { server, name },
                })
            }
            ImportTarget::Client | ImportTarget::Root => None,
        }
    }

    fn take_import(
        &mut self,
        target: ImportTarget<'a>,
        specifier: &ImportDeclarationSpecifier<'a>,
    ) {
        let (local, imported) = match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(it) => {
                let name = it.imported.name().as_str();
                let imported = match target {
                    ImportTarget::Server(server)
                    | ImportTarget::Part { server, .. }
                    | ImportTarget::InCategory { server, .. } => {
                        Some(Imported::Tool { server, name })
                    }
                    ImportTarget::Client => {
                        self.imports_any_tool |= CALLS_BY_NAME.contains(&name);
                        None
                    }
                    ImportTarget::Root => None,
                };
                (&it.local, imported)
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => {
                self.imports_any_tool |= target == ImportTarget::Client;
                (&it.local, Self::whole_module(target))
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => {
                self.imports_any_tool |= target == ImportTarget::Client;
                let imported = match Self::whole_module(target) {
                    Some(Imported::Tool { server, .. }) => Some(Imported::Server(server)),
                    other => other,
                };
                (&it.local, imported)
            }
        };
        if let Some(imported) = imported {
            self.imported.insert(local.name.as_str(), imported);
        }
    }
}

impl<'a> Visit<'a> for BoundNames<'a> {
    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.bind(it.name.as_str());
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.check_name(it.name.as_str());
    }

    // A key of an object, a class or an import only names a member. To read `constructor` reaches a
    // function, except for its name: `error.constructor.name`.
    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if it.property.name == "name"
            && let Expression::StaticMemberExpression(inner) = unwrapped(&it.object)
            && inner.property.name == CONSTRUCTOR
        {
            return self.visit_expression(&inner.object);
        }
        self.read_property(it.property.name.as_str());
        walk::walk_static_member_expression(self, it);
    }

    // `value["constructor"]`, and every other way to reach a property by its name.
    fn visit_string_literal(&mut self, it: &StringLiteral<'a>) {
        self.has_invisible_bindings |= it.value == CONSTRUCTOR;
        self.removes_items |= REMOVING_METHODS.contains(&it.value.as_str());
    }

    fn visit_template_element(&mut self, it: &TemplateElement<'a>) {
        self.has_invisible_bindings |= it.value.raw == CONSTRUCTOR;
    }

    fn visit_binding_property(&mut self, it: &BindingProperty<'a>) {
        self.take_out(&it.key);
        walk::walk_binding_property(self, it);
    }

    fn visit_assignment_target_property_property(
        &mut self,
        it: &AssignmentTargetPropertyProperty<'a>,
    ) {
        self.take_out(&it.name);
        walk::walk_assignment_target_property_property(self, it);
    }

    // `value instanceof Function` only compares.
    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        let is_comparison = it.operator == BinaryOperator::Instanceof
            && matches!(unwrapped(&it.right), Expression::Identifier(it) if it.name == FUNCTION);
        match is_comparison {
            true => self.visit_expression(&it.left),
            false => walk::walk_binary_expression(self, it),
        }
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        self.removes_items |= it.operator == UnaryOperator::Delete;
        walk::walk_unary_expression(self, it);
    }

    // What a type refers to is not there when the program runs.
    fn visit_ts_type(&mut self, _it: &TSType<'a>) {}

    fn visit_ts_class_implements(&mut self, _it: &TSClassImplements<'a>) {}

    fn visit_ts_interface_heritage(&mut self, _it: &TSInterfaceHeritage<'a>) {}

    fn visit_simple_assignment_target(&mut self, it: &SimpleAssignmentTarget<'a>) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(it) = it {
            self.bind(it.name.as_str());
        }
        // `tools.x = …` and `Promise.all = …` change the meaning of a name as well.
        if let SimpleAssignmentTarget::StaticMemberExpression(it) = it {
            let name = it.property.name.as_str();
            self.bind(name);
            self.assigned_properties.insert(name);
            // `rows.length = 0` empties an array.
            self.removes_items |= name == "length";
        }
        walk::walk_simple_assignment_target(self, it);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        it: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.bind(it.binding.name.as_str());
        self.read_property(it.binding.name.as_str());
        walk::walk_assignment_target_property_identifier(self, it);
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        if let Some(target) = ImportTarget::of(it.source.value.as_str()) {
            for specifier in it.specifiers.iter().flatten() {
                self.take_import(target, specifier);
            }
        }
        walk::walk_import_declaration(self, it);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.imports_any_tool = true;
        walk::walk_import_expression(self, it);
    }
}
