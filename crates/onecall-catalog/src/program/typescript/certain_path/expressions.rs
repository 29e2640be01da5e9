//! Checks the parts of expressions that are evaluated in every case.

use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ChainElement, Expression, ObjectPropertyKind,
};

use super::{Awaited, CertainPath};
use crate::program::typescript::result_use::ResultUse;
use crate::program::typescript::value_functions::{ArgumentUse, computes, negates};
use crate::program::typescript::wrapper::unwrapped;

/// The properties that a promise has.
const PROMISE_MEMBERS: [&str; 6] =
    ["catch", "constructor", "finally", "hasOwnProperty", "then", "toString"];

impl<'s, 'a> CertainPath<'s, 'a> {
    pub(super) fn exprs(&mut self, expressions: impl IntoIterator<Item = &'s Expression<'a>>) {
        for expression in expressions {
            self.expr(expression, Awaited::Perhaps);
        }
    }

    /// Checks an expression whose value is used, so that it must not be a promise.
    pub(super) fn used(&mut self, expression: &'s Expression<'a>) {
        self.expr(expression, Awaited::Perhaps);
        self.check_result_use(expression);
    }

    /// Checks an expression of whose value a part is used, so that it must not be `undefined`.
    pub(super) fn looked_into(&mut self, expression: &'s Expression<'a>) {
        self.used(expression);
        self.check_missing_part(expression);
    }

    /// Checks an expression whose value must have items that can be taken one by one.
    pub(super) fn iterated(&mut self, expression: &'s Expression<'a>) {
        self.looked_into(expression);
        self.check_shape(expression, ResultUse::Items);
    }

    /// Checks the parts of an expression that are evaluated in every case.
    pub(super) fn expr(&mut self, expression: &'s Expression<'a>, awaited: Awaited) {
        let expression = unwrapped(expression);
        if let Some(tool) = self.names.tool_of(expression) {
            self.resolve(expression, &tool);
            return;
        }
        match expression {
            Expression::AwaitExpression(it) => self.expr(&it.argument, Awaited::Yes),
            Expression::CallExpression(it) => self.call(it, awaited),
            Expression::ChainExpression(it) => self.chain(&it.expression),
            Expression::StaticMemberExpression(it) => {
                match PROMISE_MEMBERS.contains(&it.property.name.as_str()) {
                    true => self.expr(&it.object, Awaited::Perhaps),
                    false => self.looked_into(&it.object),
                }
            }
            Expression::ComputedMemberExpression(it) => {
                self.looked_into(&it.object);
                self.expr(&it.expression, Awaited::Perhaps);
            }
            Expression::LogicalExpression(it) => self.expr(&it.left, Awaited::Perhaps),
            Expression::ConditionalExpression(it) => self.expr(&it.test, Awaited::Perhaps),
            Expression::BinaryExpression(it) if computes(it.operator) => {
                self.used(&it.left);
                self.used(&it.right);
            }
            Expression::BinaryExpression(it) => self.exprs([&it.left, &it.right]),
            Expression::UnaryExpression(it) if negates(it.operator) => self.used(&it.argument),
            Expression::UnaryExpression(it) => self.expr(&it.argument, Awaited::Perhaps),
            Expression::AssignmentExpression(it) => self.expr(&it.right, Awaited::Perhaps),
            Expression::SequenceExpression(it) => self.exprs(&it.expressions),
            Expression::ArrayExpression(it) => self.elements(&it.elements, Awaited::Perhaps),
            Expression::ObjectExpression(it) => {
                for property in &it.properties {
                    match property {
                        ObjectPropertyKind::ObjectProperty(it) => {
                            self.expr(&it.value, Awaited::Perhaps);
                        }
                        ObjectPropertyKind::SpreadProperty(it) => self.used(&it.argument),
                    }
                }
            }
            Expression::TemplateLiteral(it) => it.expressions.iter().for_each(|it| self.used(it)),
            Expression::NewExpression(it) => {
                self.expr(&it.callee, Awaited::Perhaps);
                self.arguments(&it.arguments, ArgumentUse::by_class(&it.callee, self.names));
            }
            _ => {}
        }
    }

    /// Checks the part of an optional chain that is evaluated in every case: what is before its
    /// first `?.`.
    fn chain(&mut self, element: &'s ChainElement<'a>) {
        let mut part = match element {
            ChainElement::CallExpression(it) if it.optional => return self.exprs([&it.callee]),
            ChainElement::CallExpression(it) => &it.callee,
            ChainElement::TSNonNullExpression(it) => &it.expression,
            member => match member.as_member_expression() {
                Some(member) if member.optional() => return self.used(member.object()),
                Some(member) => member.object(),
                None => return,
            },
        };
        let mut first = None;
        loop {
            part = match unwrapped(part) {
                Expression::CallExpression(it) => {
                    first = it.optional.then_some((&it.callee, false)).or(first);
                    &it.callee
                }
                other => match other.as_member_expression() {
                    Some(member) => {
                        first = member.optional().then_some((member.object(), true)).or(first);
                        member.object()
                    }
                    None => break,
                },
            };
        }
        match first {
            Some((object, true)) => self.used(object),
            Some((callee, false)) => self.expr(callee, Awaited::Perhaps),
            None => {}
        }
    }

    pub(super) fn elements(
        &mut self,
        elements: &'s [ArrayExpressionElement<'a>],
        awaited: Awaited,
    ) {
        for element in elements {
            match element {
                ArrayExpressionElement::SpreadElement(it) => self.iterated(&it.argument),
                ArrayExpressionElement::Elision(_) => {}
                other => other.as_expression().into_iter().for_each(|it| self.expr(it, awaited)),
            }
        }
    }

    /// Checks the arguments of a call that uses them in a known way, or does not.
    pub(super) fn arguments(
        &mut self,
        arguments: &'s [Argument<'a>],
        argument_use: Option<ArgumentUse>,
    ) {
        for (position, argument) in arguments.iter().enumerate() {
            match (argument, argument_use) {
                (Argument::SpreadElement(it), _) => self.iterated(&it.argument),
                (other, argument_use) => {
                    let Some(value) = other.as_expression() else { continue };
                    match argument_use {
                        Some(ArgumentUse::Value) => self.used(value),
                        Some(ArgumentUse::Properties) if position == 0 => self.looked_into(value),
                        Some(ArgumentUse::Items) if position == 0 => self.iterated(value),
                        Some(_) | None => self.expr(value, Awaited::Perhaps),
                    }
                }
            }
        }
    }
}
