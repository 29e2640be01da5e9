//! Determines which loops and callbacks certainly run at least once.

use std::collections::HashMap;

use oxc_ast::ast::{
    ArrayExpressionElement, BindingPattern, CallExpression, Expression, ForStatement,
    ForStatementInit, ObjectPropertyKind,
};
use oxc_syntax::operator::BinaryOperator;

use super::names::BoundNames;
use super::wrapper::unwrapped;

/// Methods whose result has as many items as the value that they are called on.
const ITEM_PRESERVING: [&str; 9] =
    ["concat", "entries", "keys", "map", "reverse", "sort", "toReversed", "toSorted", "values"];

/// Functions of `Object` with an item for each entry.
const VIEWS: [&str; 3] = ["entries", "keys", "values"];

/// What the source shows of the values of variables.
#[derive(Default)]
pub(super) struct KnownValues<'a> {
    values: HashMap<&'a str, KnownValue>,
}

/// What the source shows of one value.
struct KnownValue {
    has_items: bool,
    has_entries: bool,
}

impl<'a> KnownValues<'a> {
    /// Remembers the value of a variable that is bound once.
    pub(super) fn assign(
        &mut self,
        names: &BoundNames<'a>,
        target: &'a str,
        value: &Expression<'a>,
    ) {
        let has_items = self.has_items(names, value);
        let has_entries = self.has_entries(names, value);
        self.values.insert(target, KnownValue { has_items, has_entries });
    }

    /// Whether a loop over the value of an expression certainly has an iteration.
    pub(super) fn has_items(&self, names: &BoundNames<'a>, expression: &Expression<'a>) -> bool {
        match unwrapped(expression) {
            Expression::ArrayExpression(it) => it.elements.iter().any(|element| match element {
                ArrayExpressionElement::SpreadElement(it) => self.has_items(names, &it.argument),
                other => other.as_expression().is_some(),
            }),
            Expression::StringLiteral(it) => !it.value.is_empty(),
            // An array that something is removed from may be empty later.
            Expression::Identifier(it) => {
                let known = self.values.get(it.name.as_str());
                !names.removes_items() && known.is_some_and(|known| known.has_items)
            }
            Expression::NewExpression(it) => {
                let is_collection = matches!(unwrapped(&it.callee), Expression::Identifier(it)
                    if ["Map", "Set"].contains(&it.name.as_str())
                        && !names.is_bound(it.name.as_str()));
                let items = it.arguments.first().and_then(|it| it.as_expression());
                is_collection && items.is_some_and(|it| self.has_items(names, it))
            }
            Expression::CallExpression(it) => self.call_has_items(names, it),
            _ => false,
        }
    }

    fn call_has_items(&self, names: &BoundNames<'a>, call: &CallExpression<'a>) -> bool {
        let callee = unwrapped(&call.callee);
        let first = call.arguments.first().and_then(|it| it.as_expression());
        match names.global_method(callee) {
            Some(("Object", name)) if VIEWS.contains(&name) => {
                return first.is_some_and(|it| self.has_entries(names, it));
            }
            Some(("Array", "from")) => {
                return first.is_some_and(|it| self.has_items(names, it));
            }
            _ => {}
        }
        let Expression::StaticMemberExpression(it) = callee else { return false };
        let name = it.property.name.as_str();
        let keeps_all =
            ITEM_PRESERVING.contains(&name) || (name == "slice" && call.arguments.is_empty());
        keeps_all && self.has_items(names, &it.object)
    }

    /// Whether the value of an expression is an object that certainly has an entry.
    fn has_entries(&self, names: &BoundNames<'a>, expression: &Expression<'a>) -> bool {
        match unwrapped(expression) {
            Expression::ObjectExpression(it) => {
                it.properties.iter().any(|it| matches!(it, ObjectPropertyKind::ObjectProperty(_)))
            }
            Expression::Identifier(it) => {
                let known = self.values.get(it.name.as_str());
                !names.removes_items() && known.is_some_and(|known| known.has_entries)
            }
            _ => false,
        }
    }

    /// Whether a counting loop, `for (let i = 0; i < 3; i++)`, certainly has an iteration.
    pub(super) fn counts(&self, names: &BoundNames<'a>, it: &ForStatement<'a>) -> bool {
        let Some(test) = &it.test else { return true };
        let Some(ForStatementInit::VariableDeclaration(init)) = &it.init else { return false };
        let [counter] = init.declarations.as_slice() else { return false };
        let (BindingPattern::BindingIdentifier(name), Some(Expression::NumericLiteral(start))) =
            (&counter.id, &counter.init)
        else {
            return false;
        };
        let Expression::BinaryExpression(test) = unwrapped(test) else { return false };
        let is_counter =
            matches!(unwrapped(&test.left), Expression::Identifier(it) if it.name == name.name);
        let (start, allows_equal) = match test.operator {
            BinaryOperator::LessThan => (start.value, false),
            BinaryOperator::LessEqualThan => (start.value, true),
            _ => return false,
        };
        is_counter
            && match unwrapped(&test.right) {
                Expression::NumericLiteral(end) => {
                    start < end.value || (allows_equal && start <= end.value)
                }
                Expression::StaticMemberExpression(it) if it.property.name == "length" => {
                    start == 0.0 && self.has_items(names, &it.object)
                }
                _ => false,
            }
    }
}
