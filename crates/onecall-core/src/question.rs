//! The questions that a program can ask the gateway besides calling tools, such as a search for
//! tools.

use serde::{Deserialize, Serialize};

use crate::Language;

/// A question of a program to the gateway. It does not count as a tool call.
///
/// Workers send it as JSON, so each variant is the name of a question and its fields.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProgramQuestion {
    /// Looks up the tool that an attribute of `tools` stands for.
    Find {
        /// The name of the attribute.
        name: String,
    },
    /// Lists the names of all tools.
    List {},
    /// Returns the input schema of a tool.
    Schema {
        /// The callable name of the tool.
        name: String,
    },
    /// Returns the input schema of the tool that a node of the program's plan calls.
    NodeSchema {
        /// The number of the node.
        node: usize,
    },
    /// Searches for the tools that match a query best.
    Search {
        /// The search query.
        query: String,
        /// The largest number of results.
        limit: usize,
        /// The language of the signatures in the answer.
        language: Language,
    },
    /// Lists the tools of one server.
    Server {
        /// The server as the program named it.
        name: String,
    },
    /// Removes the cached answers of all tools whose names match a pattern.
    CacheClear {
        /// The pattern.
        pattern: String,
    },
    /// Removes the cached answers of all tools whose names contain a text.
    CacheForget {
        /// The text.
        text: String,
    },
    /// Returns the size of the cache and how often it was used.
    CacheStats {},
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_question_is_one() {
        let read = |text: &str| serde_json::from_str::<ProgramQuestion>(text).ok();
        let find = ProgramQuestion::Find { name: "add".to_owned() };
        assert_eq!(read(r#"{"find":{"name":"add"}}"#), Some(find));
        assert_eq!(read(r#"{"list":{}}"#), Some(ProgramQuestion::List {}));
        let search = ProgramQuestion::Search {
            query: "é".to_owned(),
            limit: 3,
            language: Language::TypeScript,
        };
        assert_eq!(serde_json::to_string(&search).ok().as_deref().and_then(read), Some(search));
        for wrong in [
            "",
            "{}",
            "null",
            r#""list""#,
            r#"{"find":{}}"#,
            r#"{"find":{"name":1}}"#,
            r#"{"find":{"name":"a","more":1}}"#,
            r#"{"find":{"name":"a"},"list":{}}"#,
            r#"{"list":{}} "#.repeat(2).as_str(),
            r#"{"node_schema":{"node":-1}}"#,
            r#"{"search":{"query":"a","limit":1,"language":"cobol"}}"#,
            r#"{"other":{}}"#,
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
