//! The examples that are generated for every language.

/// The file name and the purpose of each example.
pub(super) const EXAMPLES: [(&str, &str); 3] = [
    ("filtering", "Asks once and keeps what matters; the rest never leaves this program."),
    ("composite", "Asks two things at once and puts the answers together."),
    ("aggregation", "Counts beside the data and prints only the counts."),
];
