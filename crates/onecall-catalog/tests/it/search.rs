//! What an agent finds when it searches.

use onecall_catalog::{Catalog, ToolDefinition};
use onecall_core::{ServerName, ToolAnnotations, ToolName};
use serde_json::{Map, Value, json};

type Listed<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

fn catalog(tools: &[Listed<'_>]) -> Catalog {
    Catalog::build(tools.iter().map(|(server, tool, description, parameters)| {
        let properties: Map<String, Value> =
            parameters.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let definition = ToolDefinition {
            tool: ToolName::new(*tool),
            description: Some((*description).into()),
            input_schema: json!({ "type": "object", "properties": properties }).into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        (ServerName::new(*server), vec![definition])
    }))
}

fn office() -> Catalog {
    catalog(&[
        ("sales", "list_orders", "All orders of a region.", &["region", "limit"]),
        ("sales", "createOrder", "Creates one.", &["customer_id", "items"]),
        ("sales", "customers", "Who buys; see also their orders.", &["query"]),
        ("github", "search_repositories", "Find code hosted on GitHub.", &["q"]),
        ("github", "create_issue", "Opens a ticket.", &["repo", "title"]),
        ("mail", "send-message", "Sends an email.", &["to", "subject", "body"]),
        ("files", "readFile", "Reads a file from disk.", &["path"]),
        ("weather", "get_forecast", "Temperature and rain.", &["latitude", "longitude"]),
    ])
}

fn found(catalog: &Catalog, query: &str, limit: usize) -> Vec<String> {
    catalog.search(query, limit).iter().map(|tool| tool.callable.to_string()).collect()
}

#[test]
fn the_best_match_comes_first() {
    let office = office();
    for (query, best) in [
        ("orders", "mcp__sales__list_orders"),
        ("creating an order", "mcp__sales__createOrder"),
        ("customer", "mcp__sales__customers"),
        ("mcp__sales__customers", "mcp__sales__customers"),
        ("emails", "mcp__mail__send_message"),
        ("send message", "mcp__mail__send_message"),
        ("file reading", "mcp__files__readFile"),
        ("latitude", "mcp__weather__get_forecast"),
        ("open ticket", "mcp__github__create_issue"),
        // Spelling mistakes and shortened words.
        ("forcast", "mcp__weather__get_forecast"),
        ("repositry", "mcp__github__search_repositories"),
        ("temperatur", "mcp__weather__get_forecast"),
        ("msg custmers", "mcp__sales__customers"),
    ] {
        assert_eq!(found(&office, query, 1), [best], "{query}");
    }
}

#[test]
fn one_word_may_be_written_as_two_and_two_as_one() {
    let catalog = catalog(&[("a", "GitHub_status", "", &[]), ("b", "other", "git things", &[])]);
    assert_eq!(found(&catalog, "github", 5), ["mcp__a__GitHub_status"]);
    assert_eq!(found(&catalog, "git hub", 1), ["mcp__a__GitHub_status"]);
}

#[test]
fn an_empty_query_lists_all_in_order() {
    let office = office();
    let all: Vec<String> = office.names().map(ToString::to_string).collect();
    assert_eq!(found(&office, "  ", 100), all);
    assert_eq!(found(&office, "", 2), all[..2]);
}

#[test]
fn nothing_is_found_where_nothing_matches() {
    for query in ["xylophone", "💰", "--", "mcp__", "zz9"] {
        assert_eq!(found(&office(), query, 10), [""; 0], "{query}");
    }
    assert_eq!(found(&Catalog::default(), "orders", 10), [""; 0]);
    assert_eq!(found(&office(), "orders", 0), [""; 0]);
}

#[test]
fn equally_good_tools_come_by_name() {
    let catalog =
        catalog(&[("c", "ping", "", &[]), ("a", "ping", "", &[]), ("b", "ping", "", &[])]);
    assert_eq!(found(&catalog, "ping", 2), ["mcp__a__ping", "mcp__b__ping"]);
}

#[test]
fn repeating_a_word_does_not_beat_a_name() {
    let stuffed = "orders ".repeat(500);
    let catalog = catalog(&[("a", "hostile", &stuffed, &[]), ("b", "orders", "A list.", &[])]);
    assert_eq!(found(&catalog, "orders", 1), ["mcp__b__orders"]);
}

#[test]
fn endless_queries_and_names_are_bounded() {
    let endless = "orders ".repeat(200_000);
    let catalog = catalog(&[("a", &endless, &endless, &[&endless]), ("b", "orders", "", &[])]);
    assert_eq!(catalog.search(&endless, 10).len(), 2);
}
