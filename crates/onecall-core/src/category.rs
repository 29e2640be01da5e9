//! A coarse classification of tools, by which generated files are grouped.

/// The rough purpose of a tool. Generated files are grouped by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolCategory {
    /// The tool finds or reads something.
    Query,
    /// The tool changes something.
    Mutation,
    /// The tool checks something.
    Validation,
    /// The purpose is unknown.
    Other,
}

impl ToolCategory {
    /// Every category with its name in configurations and generated files.
    pub const NAMES: [(&str, Self); 4] = [
        ("query", Self::Query),
        ("mutation", Self::Mutation),
        ("validation", Self::Validation),
        ("other", Self::Other),
    ];

    /// The name of the category in configurations and generated files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, category)| *category == self).map_or("", |(name, _)| name)
    }
}
