//! What a catalog holds.

use std::sync::Arc;

use onecall_catalog::{Catalog, ToolDefinition};
use onecall_core::{ServerName, ToolAnnotations, ToolName};
use serde_json::json;

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition {
        tool: ToolName::new(name),
        description: Some(description.into()),
        input_schema: json!({ "type": "object" }).into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }
}

fn description(catalog: &Catalog, name: &str) -> Option<String> {
    catalog.get(name)?.description.as_deref().map(str::to_owned)
}

#[test]
fn tools_are_sorted_and_found_by_callable_name() {
    let catalog = Catalog::build([
        (ServerName::new("z"), vec![tool("b", ""), tool("a", "")]),
        (ServerName::new("m-n"), vec![tool("x.y", "")]),
    ]);
    let names: Vec<_> = catalog.names().map(ToString::to_string).collect();
    assert_eq!(names, ["mcp__m_n__x_y", "mcp__z__a", "mcp__z__b"]);
    assert_eq!(catalog.len(), 3);
    assert!(catalog.tools().map(|tool| &tool.callable).eq(catalog.names()));
    let found = catalog.get("mcp__m_n__x_y").map(|tool| (tool.server.as_str(), tool.tool.as_str()));
    assert_eq!(found, Some(("m-n", "x.y")));
    assert_eq!(catalog.get("mcp__m-n__x.y"), None);
}

#[test]
fn an_empty_catalog_is_empty() {
    let catalog = Catalog::default();
    assert!(catalog.is_empty());
    assert_eq!(catalog.get(""), None);
}

#[test]
fn the_first_of_two_equal_tools_counts() {
    let catalog = Catalog::build([
        (ServerName::new("s"), vec![tool("t", "first"), tool("t", "second")]),
        (ServerName::new("s"), vec![tool("t", "third")]),
    ]);
    assert_eq!(catalog.len(), 1);
    assert_eq!(description(&catalog, "mcp__s__t"), Some("first".to_owned()));
}

#[test]
fn what_is_listed_as_before_is_shared() {
    let [a, b, c] = ["a", "b", "c"].map(ServerName::new);
    let of = |name: &str| Arc::new(vec![tool("t", name), tool("only", name)]);
    let (of_a, of_b) = (of("a"), of("b"));
    let before = Catalog::default()
        .with_tool_lists([(a.clone(), Arc::clone(&of_a)), (b.clone(), Arc::clone(&of_b))]);
    let after = before.with_tool_lists([(a, of_a), (b, of("b anew")), (c, of_b)]);

    let shared = |name: &str| Arc::ptr_eq(before.get(name).unwrap(), after.get(name).unwrap());
    assert!(shared("mcp__a__t") && shared("mcp__a__only") && !shared("mcp__b__t"));
    let described = ["a", "b", "c"].map(|server| description(&after, &format!("mcp__{server}__t")));
    assert_eq!(described.map(Option::unwrap), ["a", "b anew", "b"]);
}

#[test]
fn a_name_that_is_contested_now_is_not_shared() {
    let (server, listed) = (ServerName::new("a-b"), Arc::new(vec![tool("t", "")]));
    let before = Catalog::default().with_tool_lists([(server.clone(), Arc::clone(&listed))]);
    assert!(before.get("mcp__a_b__t").is_some());
    let rival = (ServerName::new("a.b"), Arc::new(vec![tool("t", "")]));
    let after = before.with_tool_lists([(server.clone(), Arc::clone(&listed)), rival]);
    assert_eq!((after.len(), after.get("mcp__a_b__t")), (2, None));
    assert!(after.with_tool_lists([(server, listed)]).get("mcp__a_b__t").is_some());
}
