//! The tools that the source of a program names.

/// A place at which a program names a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// The tool as the program names it: a callable name, what follows `tools.`, or
    /// `<server>/<name>` for an import from a server. It may not exist.
    pub name: String,
    /// The line of the program, from 1.
    pub line: usize,
    /// Whether it is inside a loop or a comprehension, so that it may be called any number of
    /// times.
    pub in_loop: bool,
    /// Whether it is inside a function, which may be called any number of times.
    pub in_function: bool,
}

/// The tools a program may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUses {
    /// All places at which it names a tool, in the order of the source.
    pub named: Vec<ToolUse>,
    /// Whether it may call other tools, because it computes names or passes `tools` around.
    pub may_call_others: bool,
}
