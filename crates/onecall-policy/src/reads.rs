//! Which parts of the context a policy reads. The answer decides what can be cached, and whether the
//! arguments of a call have to be parsed at all, so it must never be too small.

use std::collections::BTreeSet;

use cedar_policy::pst::{Clause, Expr, Literal, Template, Var};

use crate::entity::USER;

/// The attribute of the context that has the arguments.
pub(crate) const INPUT: &str = "input";

/// The attributes of the context that are the same for all calls of a tool.
const OF_THE_TOOL: [&str; 2] = ["tool", "annotations"];

/// What a policy reads of the context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContextReads {
    /// Which arguments of the call it reads.
    pub(crate) input: InputReads,
    /// Whether it reads something else that differs from call to call.
    pub(crate) request: bool,
    /// Whether it reads what is the same for all calls of a tool.
    pub(crate) tool: bool,
    /// Whether its conditions are about the user.
    pub(crate) principal: bool,
}

/// Which arguments of a call are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum InputReads {
    /// No argument.
    #[default]
    Nothing,
    /// These arguments. With none, it only matters that there are arguments.
    Arguments(BTreeSet<String>),
    /// All arguments.
    Everything,
}

impl ContextReads {
    /// What the conditions of a policy read.
    pub(crate) fn of(policy: &Template) -> Self {
        let mut reads = Self::default();
        for clause in policy.clauses() {
            let (Clause::When(condition) | Clause::Unless(condition)) = clause;
            reads.visit(condition);
        }
        reads
    }

    /// Whether the policy has the same result for all calls of a tool by a user.
    pub(crate) fn is_static(&self) -> bool {
        self.input == InputReads::Nothing && !self.request
    }

    fn visit(&mut self, expression: &Expr) {
        match expression {
            Expr::Var(Var::Context) => {
                *self = Self::everything();
            }
            Expr::GetAttr { expr, attr } => match &**expr {
                Expr::Var(Var::Context) if attr == INPUT => self.input = InputReads::Everything,
                Expr::Var(Var::Context) => self.read_attribute(attr),
                inner if is_input(inner) => self.input.add(attr),
                inner => self.visit(inner),
            },
            Expr::HasAttr { expr, attrs } => match &**expr {
                Expr::Var(Var::Context) if attrs.head == INPUT => match attrs.tail.first() {
                    Some(argument) => self.input.add(argument),
                    None => self.input.add_none(),
                },
                Expr::Var(Var::Context) => self.read_attribute(&attrs.head),
                inner if is_input(inner) => self.input.add(&attrs.head),
                inner => self.visit(inner),
            },
            Expr::UnaryOp { expr, .. } | Expr::Like { expr, .. } => self.visit(expr),
            Expr::BinaryOp { left, right, .. } => {
                self.visit(left);
                self.visit(right);
            }
            Expr::Is { expr, in_expr, .. } => {
                self.visit(expr);
                in_expr.iter().for_each(|it| self.visit(it));
            }
            Expr::IfThenElse { cond, then_expr, else_expr } => {
                [cond, then_expr, else_expr].into_iter().for_each(|it| self.visit(it));
            }
            Expr::Set(items) => items.iter().for_each(|it| self.visit(it)),
            Expr::Record(entries) => entries.values().for_each(|it| self.visit(it)),
            Expr::Var(Var::Principal) => self.principal = true,
            // A user that is named could be the one who makes the call.
            Expr::Literal(Literal::EntityUID(entity)) => {
                self.principal |= entity.ty.to_string() == USER;
            }
            Expr::Var(Var::Action | Var::Resource) | Expr::Literal(_) | Expr::Slot(_) => {}
            // An expression of a kind that is not known here could read anything.
            _ => {
                *self = Self::everything();
            }
        }
    }

    fn everything() -> Self {
        Self { input: InputReads::Everything, request: true, tool: true, principal: true }
    }

    fn read_attribute(&mut self, attribute: &str) {
        match OF_THE_TOOL.contains(&attribute) {
            true => self.tool = true,
            false => self.request = true,
        }
    }
}

/// Whether an expression is `context.input`.
fn is_input(expression: &Expr) -> bool {
    match expression {
        Expr::GetAttr { expr, attr } => attr == INPUT && matches!(**expr, Expr::Var(Var::Context)),
        _ => false,
    }
}

impl InputReads {
    fn add(&mut self, argument: &str) {
        self.add_none();
        if let Self::Arguments(arguments) = self {
            arguments.insert(argument.to_owned());
        }
    }

    fn add_none(&mut self) {
        if *self == Self::Nothing {
            *self = Self::Arguments(BTreeSet::new());
        }
    }

    /// Whether this argument is read.
    pub(crate) fn contains(&self, argument: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Arguments(arguments) => arguments.contains(argument),
            Self::Everything => true,
        }
    }

    /// Adds all that `other` reads.
    pub(crate) fn extend(&mut self, other: &Self) {
        match other {
            Self::Nothing => {}
            Self::Arguments(arguments) => {
                self.add_none();
                arguments.iter().for_each(|it| self.add(it));
            }
            Self::Everything => *self = Self::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use cedar_policy::Policy;

    use super::*;

    fn reads(condition: &str) -> (String, bool) {
        let text = format!("permit(principal, action, resource) when {{ {condition} }};");
        let policy = Policy::parse(None, text).unwrap().to_pst().unwrap();
        let ContextReads { input, request, .. } = ContextReads::of(policy.body());
        let input = match input {
            InputReads::Nothing => "nothing".to_owned(),
            InputReads::Arguments(names) => {
                format!("[{}]", names.into_iter().collect::<Vec<_>>().join(","))
            }
            InputReads::Everything => "everything".to_owned(),
        };
        (input, request)
    }

    #[test]
    fn reads_are_found_wherever_they_are() {
        for (condition, input, request) in [
            ("true", "nothing", false),
            ("principal.name == \"context.input\"", "nothing", false),
            ("context.annotations.read_only && context.tool like \"a*\"", "nothing", false),
            ("context.client == \"x\"", "nothing", true),
            ("context has program", "nothing", true),
            ("context has program && context[\"program\"] == \"\"", "nothing", true),
            ("context.input.amount > 5", "[amount]", false),
            ("context[\"input\"][\"a-b\"] == 1", "[a-b]", false),
            ("context.input has note", "[note]", false),
            ("context has input.note.text", "[note]", false),
            ("context has input", "[]", false),
            ("context.input.a.b.c == context.input.d", "[a,d]", false),
            ("context.input == {a: 1}", "everything", false),
            ("context == {a: 1}", "everything", true),
            ("[context.input].contains({a: 1})", "everything", false),
            ("{x: context}.x.input.a == 1", "everything", true),
            ("(if true then context else {input: {a: 1}}).input.a == 1", "everything", true),
            ("principal in [resource] || !(context.input.a)", "[a]", false),
            ("context.input.a.lessThan(decimal(\"1.0\"))", "[a]", false),
            ("principal is User in context.input.a", "[a]", false),
        ] {
            assert_eq!(reads(condition), (input.to_owned(), request), "{condition}");
        }
    }

    #[test]
    fn conditions_about_the_user_are_noticed() {
        let is_about_user = |condition: &str| {
            let text = format!("permit(principal, action, resource) when {{ {condition} }};");
            ContextReads::of(Policy::parse(None, text).unwrap().to_pst().unwrap().body()).principal
        };
        for condition in [
            "principal.name == \"a\"",
            "principal in Group::\"a\"",
            "principal is User",
            "principal has name",
            "[principal].contains(principal)",
            "User::\"anna\" in Group::\"a\"",
            "context.input.a && (if true then principal == User::\"a\" else false)",
            "context == {}",
        ] {
            assert!(is_about_user(condition), "{condition}");
        }
        for condition in
            ["context.input.a", "resource.name == \"User\"", "resource in Server::\"a\""]
        {
            assert!(!is_about_user(condition), "{condition}");
        }
    }
}
