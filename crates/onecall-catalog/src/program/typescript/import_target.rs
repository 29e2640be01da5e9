//! Parses the module names in imports, which follow the folders that `onecall generate` writes,
//! whether those exist or not.

/// The names of the folder that contains all servers.
const ROOTS: [&str; 2] = ["servers", "mcp-apis"];

/// What an import refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportTarget<'a> {
    /// The functions that call tools by name.
    Client,
    /// The folder of all servers, from which nothing can be imported.
    Root,
    /// All tools of a server.
    Server(&'a str),
    /// A part of a server: one of its categories or tools.
    Part {
        /// The server.
        server: &'a str,
        /// The name of a category or a tool.
        part: &'a str,
    },
    /// One tool in a category of a server.
    InCategory {
        /// The server.
        server: &'a str,
        /// The category.
        category: &'a str,
        /// The tool.
        tool: &'a str,
    },
}

impl<'a> ImportTarget<'a> {
    /// Parses a module name; `None` if it does not refer to tools.
    #[must_use]
    pub fn of(specifier: &'a str) -> Option<Self> {
        let is_leading = |part: &&str| matches!(*part, "" | "." | ".." | "@" | "~");
        let mut parts: Vec<&str> = specifier.split('/').skip_while(is_leading).collect();
        if let Some(last) = parts.last_mut() {
            *last = without_extension(last);
        }
        // The index file of a folder stands for the folder, and so does a path that ends with a
        // slash.
        if let [_, .., "" | "index"] = parts.as_slice() {
            parts.pop();
        }
        match parts.as_slice() {
            // The client module, under the name that generated tool files use.
            ["client"] if specifier.starts_with('.') => Some(Self::Client),
            [root, rest @ ..] if ROOTS.contains(root) => match rest {
                [] => Some(Self::Root),
                ["client"] => Some(Self::Client),
                [server] => Some(Self::Server(server)),
                [server, part] => Some(Self::Part { server, part }),
                [server, category, tool] => Some(Self::InCategory { server, category, tool }),
                _ => None,
            },
            _ => None,
        }
    }
}

fn without_extension(part: &str) -> &str {
    let extensions = [".d.ts", ".ts", ".js", ".mts", ".mjs"];
    extensions.iter().find_map(|it| part.strip_suffix(it)).unwrap_or(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_in_many_ways() {
        let sales = Some(ImportTarget::Server("sales"));
        let query = Some(ImportTarget::Part { server: "sales", part: "query" });
        let (server, tool) = ("sales", "list_orders");
        let one = ImportTarget::InCategory { server, category: "query", tool };
        let odd = ImportTarget::InCategory { server, category: "queries", tool };
        let cases = [
            ("./servers/financial-data", Some(ImportTarget::Server("financial-data"))),
            ("./servers/sales/index.ts", sales),
            ("../servers/sales.js", sales),
            ("../../mcp-apis/sales", sales),
            ("mcp-apis/sales", sales),
            ("@/servers/sales/", sales),
            ("~/mcp-apis/sales", sales),
            ("./mcp-apis/sales/query", query),
            ("./mcp-apis/sales/query/", query),
            ("./mcp-apis/sales/query/index", query),
            ("../mcp-apis/sales/query/index.js", query),
            ("mcp-apis/sales/query.ts", query),
            ("./servers/sales/query/list_orders", Some(one)),
            ("./mcp-apis/sales/query/list_orders.js", Some(one)),
            ("./mcp-apis/sales/queries/list_orders.js", Some(odd)),
            ("./mcp-apis/sales/query/deep/er", None),
            ("./mcp-apis/client.js", Some(ImportTarget::Client)),
            ("../../client.js", Some(ImportTarget::Client)),
            ("client", None),
            ("./servers", Some(ImportTarget::Root)),
            ("./mcp-apis/index.js", Some(ImportTarget::Root)),
            ("./other/sales", None),
            ("fs", None),
            ("node:fs", None),
            ("index", None),
            ("", None),
        ];
        for (specifier, expected) in cases {
            assert_eq!(ImportTarget::of(specifier), expected, "{specifier}");
        }
    }
}
