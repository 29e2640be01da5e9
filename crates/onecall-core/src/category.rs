//! What a tool is for, roughly.

/// What a tool is for, roughly; generated files are sorted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// It finds or reads something.
    Query,
    /// It changes something.
    Mutation,
    /// It checks something.
    Validation,
    /// Nothing says which.
    Other,
}

impl Category {
    /// Every category, as it is written.
    pub const NAMES: [(&str, Self); 4] = [
        ("query", Self::Query),
        ("mutation", Self::Mutation),
        ("validation", Self::Validation),
        ("other", Self::Other),
    ];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, category)| *category == self).map_or("", |(name, _)| name)
    }
}
