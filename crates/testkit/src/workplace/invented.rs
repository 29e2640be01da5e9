//! Invented people, companies, days and prose.

pub(super) use crate::fixture::scatter;

const GIVEN: [&str; 24] = [
    "Amara", "Bruno", "Chiara", "Dmitri", "Elena", "Farid", "Grace", "Hiroshi", "Ingrid", "Jonas",
    "Keiko", "Liam", "Mina", "Nadia", "Oscar", "Priya", "Quentin", "Rosa", "Samir", "Tessa",
    "Ulrich", "Vera", "Wanda", "Yusuf",
];
const FAMILY: [&str; 25] = [
    "Adeyemi",
    "Bauer",
    "Castillo",
    "Dubois",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Haddad",
    "Ivanova",
    "Jensen",
    "Kowalski",
    "Lindqvist",
    "Moreau",
    "Nakamura",
    "Okafor",
    "Petrov",
    "Quispe",
    "Rossi",
    "Sharma",
    "Tanaka",
    "Ueda",
    "Varga",
    "Weber",
    "Yilmaz",
    "Zhang",
];
const COMPANIES: [&str; 20] = [
    "Northwind Logistics",
    "Bluepeak Software",
    "Halden Foods",
    "Orbit Dynamics",
    "Kestrel Energy",
    "Lumen Health",
    "Sable Textiles",
    "Tidewater Marine",
    "Vantage Robotics",
    "Willow Interiors",
    "Cobalt Mining",
    "Driftwood Media",
    "Evergreen Paper",
    "Foxglove Pharma",
    "Granite Insurance",
    "Harbor Freight Lines",
    "Ironwood Tools",
    "Juniper Travel",
    "Knoll Furniture",
    "Larkspur Bank",
];
const SENTENCES: [&str; 16] = [
    "Asked for a security questionnaire before the contract can be signed.",
    "Prefers a call in the afternoon, the mornings are full of stand-ups.",
    "Was referred by a colleague who has been using the product since spring.",
    "Wants to see how exports behave with more than a hundred thousand rows.",
    "Compares us with two other vendors and decides at the end of the quarter.",
    "Needs single sign-on, the rest of the requirements are covered.",
    "The budget was confirmed by finance, procurement has to approve it.",
    "Met at the trade fair, remembered the demo of the scheduling view.",
    "Works from two offices and asked whether both can share one workspace.",
    "Had a bad experience with a migration last year and is careful about this one.",
    "Will bring the head of operations to the next meeting.",
    "Sent the signed agreement back, the countersignature is missing.",
    "Reported that invitations to new members arrive only hours later.",
    "Would like invoices in euros and a purchase order number on each of them.",
    "Uses the mobile application only, never the one in the browser.",
    "Does not want to be contacted again before the summer break.",
];

/// A full name; neighbouring numbers have different ones.
pub(super) fn person(number: u64) -> String {
    let (given, family) = (number % 24, (number / 24 + number * 7) % 25);
    format!("{} {}", GIVEN[given as usize], FAMILY[family as usize])
}

/// An email address made from a name.
pub(super) fn address(name: &str, domain: &str) -> String {
    format!("{}@{domain}", name.to_lowercase().replace(' ', "."))
}

/// One of twenty companies.
pub(super) fn company(number: u64) -> &'static str {
    COMPANIES[(number % 20) as usize]
}

/// The domain of a company.
pub(super) fn domain(company: &str) -> String {
    format!("{}.example", company.to_lowercase().replace(' ', "-"))
}

/// One of several words.
pub(super) fn pick(seed: u64, words: &[&'static str]) -> &'static str {
    words[scatter(seed, words.len() as u64) as usize]
}

/// A text of this many sentences.
pub(super) fn prose(seed: u64, sentences: u64) -> String {
    let sentence = |at: u64| pick(seed * 31 + at, &SENTENCES);
    (0..sentences).map(sentence).collect::<Vec<_>>().join(" ")
}

/// A day of 2026 by its number in the year; every month has 28 days.
pub(super) fn day(number: u64) -> String {
    format!("2026-{:02}-{:02}", number / 28 % 12 + 1, number % 28 + 1)
}

/// Eight hexadecimal digits.
pub(super) fn hash(seed: u64) -> String {
    format!("{:08x}", scatter(seed, 1 << 32))
}
