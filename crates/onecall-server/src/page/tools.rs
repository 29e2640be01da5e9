//! The tools that programs can call: search, signatures, and a form that makes one call.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use maud::{Markup, html};
use onecall_catalog::{
    DESCRIPTION_TOKENS, python_signature_with, summary, typescript_signature_with,
};
use onecall_core::text::readable;
use onecall_core::{ToolError, ToolSpec, ToolValue};
use onecall_gateway::{FoundTool, Refresh, ToolSearch};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::context::PageContext;
use super::error::PageError;
use super::fields::{Fields, segment};
use super::reply::PageAnswer;
use super::room::{excerpt, fill, fill_with_fitting, left_beside};
use super::run::pretty;
use super::text;

/// How many tools one page lists.
const PAGE_LENGTH: usize = 60;

/// How much of a page the servers take that tools can be filtered by, in bytes.
const SERVERS_SIZE: usize = 8_000;

/// How long a page waits for servers that have never listed their tools.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a page waits for the answer of a call. The call itself goes on.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// How much of a page the answer, a signature and the fields of the form take, in bytes.
const ANSWER_SIZE: usize = 20_000;
const SIGNATURE_SIZE: usize = 7_000;
const FIELDS_SIZE: usize = 28_000;

/// How much of a page the names of a tool take, in bytes. Its description takes what the other parts leave.
const FACTS_SIZE: usize = 3_000;

/// How many values a field offers to choose from, and the longest of them, in bytes.
const MAX_CHOICES: usize = 100;
const MAX_CHOICE: usize = 60;

/// The longest text that is typed into a field of one line, in characters, if the schema names one.
const MAX_SHORT_TEXT: u64 = 200;

/// The longest signature in the list of tools, in characters.
const MAX_LISTED_SIGNATURE: usize = 200;

/// The name of the page as a client, in records and policies.
const CLIENT: &str = "onecall page";

pub(super) async fn page(context: &Arc<PageContext>) -> Result<PageAnswer, PageError> {
    let (query, server) = (context.query.get("q").unwrap_or_default(), context.query.get("server"));
    let found = find(context, query, server).await?;
    let before = context.query.number::<usize>("after").unwrap_or(0);
    let listed = found.iter().skip(before).take(PAGE_LENGTH);
    let after = |count: usize| context.query.with(&[("after", Some(&count.to_string()))]);
    let filters = filters(context, query, server);
    let link = html! { a href=(after(usize::MAX)) { "Tools before" } };
    let room = left_beside(&[&filters, &link, &link]);
    let shown = fill(listed, room, |found| listed_tool(context, &found.spec));
    let end = before.saturating_add(shown.count);
    let body = html! {
        (filters)
        @if found.is_empty() {
            div.empty {
                @if query.is_empty() && server.is_none() {
                    p { strong { "No tool is known." } } p { "The page " a href="/page/servers" { "Servers" } " says why." }
                } @else { p { "No tool matches. " a href="/page/tools" { "All tools" } } }
            }
        }
        ul.plain.tools-list { (shown.markup) }
        nav.pages aria-label="Pages of tools" {
            @if before > 0 { a href=(after(before.saturating_sub(PAGE_LENGTH))) { "Tools before" } }
            @if end < found.len() { a href=(after(end)) { "More tools" } }
            span.muted { (text::count(u64::try_from(found.len()).unwrap_or(u64::MAX), "tool", "tools")) }
        }
    };
    Ok(PageAnswer::page("Tools", body))
}

/// The form that searches for tools.
fn filters(context: &PageContext, query: &str, server: Option<&str>) -> Markup {
    let servers = context.gateway.status();
    let options = fill(&servers, SERVERS_SIZE, |status| {
        let name = status.name.as_str();
        html! { option value=(name) selected[server == Some(name)] { (text::line(name, 60)) } }
    });
    html! {
        form.filters method="get" role="search" aria-label="Search tools" {
            label { "Search" input type="search" name="q" value=(query) maxlength="200" placeholder="send a message"; }
            // A list that is too long for a page is typed instead.
            @if options.count < servers.len() {
                label { "Server" input type="search" name="server" value=(server.unwrap_or_default()) maxlength="200"; }
            } @else {
                label { "Server" select name="server" { option value="" { "all" } (options.markup) } }
            }
            span.actions { button type="submit" { "Search" } }
        }
    }
}

/// A tool in the list.
fn listed_tool(context: &PageContext, spec: &ToolSpec) -> Markup {
    let signature = python_signature_with(spec, context.gateway.observed(spec).as_ref());
    html! { li {
        a href={ "/page/tools/" (segment(spec.callable.as_str())) } { code { (text::line(spec.callable.as_str(), 100)) } }
        " " (hints(spec))
        code.signature { (text::line(&signature, MAX_LISTED_SIGNATURE)) }
        p.muted { (text::line(&summary(spec.description.as_deref().unwrap_or_default(), 160), 200)) }
    } }
}

async fn find(
    context: &PageContext,
    query: &str,
    server: Option<&str>,
) -> Result<Vec<FoundTool>, PageError> {
    let gateway = &context.gateway;
    let known =
        match timeout(LIST_TIMEOUT, gateway.refresh_known_tools(server, Refresh::Unknown)).await {
            Ok(known) => known,
            // Servers that are slow appear when they have listed their tools.
            Err(_) => gateway.last_known_tools().await,
        };
    let search = ToolSearch { query, server, limit: usize::MAX };
    gateway.find_known(search, &known).await.map_err(|error| PageError::Invalid(error.to_string()))
}

/// What the server says about the effects of a tool.
fn hints(spec: &ToolSpec) -> Markup {
    let hints = &spec.annotations;
    html! {
        @if hints.read_only_hint == Some(true) { span.tag { "says it only reads" } }
        @else if hints.destructive_hint == Some(true) { span.tag.wait { "says it may destroy" } }
    }
}

/// A form that was sent to call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentCall {
    /// The form belongs to the session of the browser.
    Genuine,
    /// The form belongs to another session, and is given back.
    Stale,
}

/// One tool; with a form that was sent, also the answer to the call.
pub(super) async fn tool_page(
    context: &Arc<PageContext>,
    name: &str,
    sent: Option<SentCall>,
) -> Result<PageAnswer, PageError> {
    let known = context.gateway.last_known_tools().await;
    let spec = match context.gateway.inspect_known(name, &known) {
        Some(spec) => spec,
        None => match timeout(LIST_TIMEOUT, context.gateway.inspect(name)).await {
            Ok(Ok(spec)) => spec,
            Ok(Err(_)) | Err(_) => return Err(PageError::NotFound),
        },
    };
    let (answer, status) = match sent {
        None => (html! {}, StatusCode::OK),
        Some(SentCall::Stale) => {
            let problem = "Nothing was called: the form belongs to another session of this browser. What you \
                           typed is kept: read it, and send it again.";
            (html! { p.problem #answer role="alert" { (problem) } }, StatusCode::FORBIDDEN)
        }
        Some(SentCall::Genuine) => match arguments(&spec, &context.form) {
            Ok(arguments) => (call(context, &spec, arguments).await, StatusCode::OK),
            Err(problem) => {
                (html! { p.problem #answer role="alert" { (problem) } }, StatusCode::BAD_REQUEST)
            }
        },
    };
    let observed = context.gateway.observed(&spec);
    let signature = |text: String| excerpt(&text, SIGNATURE_SIZE).text;
    let signatures = html! {
        section { h2 { "Signature" }
            pre.output tabindex="0" { (signature(python_signature_with(&spec, observed.as_ref()))) }
            details { summary { "TypeScript" } pre.output tabindex="0" { (signature(typescript_signature_with(&spec, observed.as_ref()))) } }
        }
    };
    let form = call_form(context, &spec);
    let room = left_beside(&[&signatures, &answer, &form]).saturating_sub(FACTS_SIZE);
    let description = spec.description.as_ref().map(|it| readable(it, DESCRIPTION_TOKENS));
    let body = html! {
        dl.facts {
            div { dt { "Server" } dd { (text::line(spec.server.as_str(), 80)) } }
            div { dt { "Name there" } dd { (text::line(spec.tool.as_str(), 120)) } }
            div { dt { "Effects" } dd { (hints(&spec)) @if spec.annotations.read_only_hint != Some(true) { " may change something" } } }
        }
        @if let Some(description) = description { pre.description { (excerpt(&description, room).text) } }
        (signatures)
        section { h2 #try-title { "Try a call" }
            p { "The call is made as " strong { (text::line(&context.viewer.name, 80)) } ": rules and approvals apply, and it is recorded." }
            (answer)
            (form)
        }
    };
    Ok(PageAnswer::Page { title: text::line(spec.callable.as_str(), 120), body, status })
}

/// A form with a field for each argument, made from the schema.
fn call_form(context: &PageContext, spec: &ToolSpec) -> Markup {
    let schema = spec.input_schema.value();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties: Vec<(&String, &Value)> = properties.into_iter().flatten().collect();
    // What was typed is given back, however long it is.
    let is_typed = |(_, (name, _)): &(usize, &(&String, &Value))| {
        context.form.raw(&format!("arg.{name}")).is_some_and(|typed| !typed.is_empty())
    };
    let fields = fill_with_fitting(
        properties.iter().enumerate(),
        FIELDS_SIZE,
        is_typed,
        |(index, (name, schema))| {
            field(context, index, name, schema, required.contains(&name.as_str()))
        },
    );
    let further = properties.len().saturating_sub(fields.count);
    let is_open = further > 0 || fields.count == 0 || context.form.get("json").is_some();
    html! {
        form.stack.try method="post" action={ "/page/tools/" (segment(spec.callable.as_str())) "#answer" } {
            (context.form_check())
            (fields.markup)
            details open[is_open] {
                summary { "Further arguments as JSON" }
                @if further > 0 { p.help { (text::count(u64::try_from(further).unwrap_or(u64::MAX), "argument has", "arguments have")) " no field here. The signature names all." } }
                label for="more" { "A JSON object" }
                textarea.code #more name="json" rows="3" spellcheck="false" { (context.form.raw("json").unwrap_or_default()) }
            }
            button type="submit" { "Call it" }
        }
    }
}

fn field(
    context: &PageContext,
    index: usize,
    name: &str,
    schema: &Value,
    is_required: bool,
) -> Markup {
    let schema = of_value(schema);
    let id = format!("argument-{index}");
    let field = format!("arg.{name}");
    let typed = context.form.raw(&field).unwrap_or_default();
    let kind = kind_of(schema.value);
    let description = schema.of("description").and_then(Value::as_str).unwrap_or_default();
    let choices: Vec<&str> = schema
        .of("enum")
        .and_then(Value::as_array)
        .map(|values| values.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    // A list that is too long for a page is typed instead.
    let is_list = (1..=MAX_CHOICES).contains(&choices.len())
        && choices.iter().all(|choice| choice.len() <= MAX_CHOICE);
    html! {
        label for=(id) { (text::line(name, 80)) @if is_required { span.muted { " required" } }
            span.muted { " " (text::line(kind, 20)) } }
        @if is_list {
            select id=(id) name=(field) { option value="" {}
                @for choice in choices { option value=(choice) selected[typed == choice] { (text::line(choice, 80)) } } }
        } @else if kind == "boolean" {
            select id=(id) name=(field) { option value="" {}
                @for choice in ["true", "false"] { option value=(choice) selected[typed == choice] { (choice) } } }
        } @else if matches!(kind, "object" | "array" | "any") {
            textarea.code id=(id) name=(field) rows="2" spellcheck="false" placeholder="JSON" { (in_textarea(typed)) }
        } @else if kind == "string" && (typed.contains('\n') || is_long_text(schema)) {
            textarea id=(id) name=(field) rows="1" { (in_textarea(typed)) }
        } @else {
            input id=(id) name=(field) value=(typed) inputmode=[(kind == "number" || kind == "integer").then_some("decimal")];
        }
        @if !description.is_empty() { p.help { (text::line(description, 300)) } }
    }
}

/// The schema of the values of an argument, without the alternative that there is none.
#[derive(Clone, Copy)]
struct ValueSchema<'a> {
    value: &'a Value,
    /// The schema that has it as one of its alternatives, or the schema itself.
    whole: &'a Value,
}

impl<'a> ValueSchema<'a> {
    /// A keyword of the schema.
    fn of(self, keyword: &str) -> Option<&'a Value> {
        self.whole.get(keyword).or_else(|| self.value.get(keyword))
    }
}

/// Leaves out the alternative `null` of an argument. An empty field stands for that.
fn of_value(whole: &Value) -> ValueSchema<'_> {
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|keyword| whole.get(keyword)?.as_array());
    let mut values = alternatives.into_iter().flatten().filter(|it| kind_of(it) != "null");
    match (values.next(), values.next()) {
        (Some(value), None) => ValueSchema { value, whole },
        _ => ValueSchema { value: whole, whole },
    }
}

/// The type of an argument; `any` if the schema does not name exactly one beside `null`.
fn kind_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            match (kinds.next(), kinds.next()) {
                (Some(kind), None) => kind,
                _ => "any",
            }
        }
        _ => "any",
    }
}

/// Whether a text may have several lines, as far as the schema says what it is.
fn is_long_text(schema: ValueSchema<'_>) -> bool {
    let is_short =
        schema.of("maxLength").and_then(Value::as_u64).is_some_and(|it| it <= MAX_SHORT_TEXT);
    !is_short && ["format", "pattern", "const"].iter().all(|keyword| schema.of(keyword).is_none())
}

/// A text as the content of a `textarea`, of which browsers leave out the first line break.
fn in_textarea(text: &str) -> String {
    if text.starts_with(['\n', '\r']) { format!("\n{text}") } else { text.to_owned() }
}

/// The arguments that a form stands for. An empty field is left out.
fn arguments(spec: &ToolSpec, form: &Fields) -> Result<Map<String, Value>, String> {
    let schema = spec.input_schema.value();
    let mut arguments = match form.get("json") {
        None => Map::new(),
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return Err("the further arguments are not a JSON object".to_owned()),
            Err(error) => return Err(format!("the further arguments are not JSON: {error}")),
        },
    };
    for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        let Some(typed) = form.raw(&format!("arg.{name}")).filter(|typed| !typed.is_empty()) else {
            continue;
        };
        let value = match kind_of(of_value(schema).value) {
            // Browsers send each line break of a text as two characters.
            "string" => Value::from(typed.replace("\r\n", "\n")),
            "any" => serde_json::from_str(typed).unwrap_or_else(|_| Value::from(typed)),
            kind => serde_json::from_str(typed.trim()).map_err(|_| {
                format!("'{}' is not of the type {}", text::line(name, 60), text::line(kind, 20))
            })?,
        };
        arguments.insert(name.clone(), value);
    }
    Ok(arguments)
}

/// Makes the call, and shows its answer.
async fn call(
    context: &Arc<PageContext>,
    spec: &Arc<ToolSpec>,
    arguments: Map<String, Value>,
) -> Markup {
    let Ok(arguments) = RawValue::from_string(Value::Object(arguments).to_string()) else {
        return html! { p.problem #answer role="alert" { "the arguments cannot be sent" } };
    };
    let (gateway, name) = (Arc::clone(&context.gateway), spec.callable.clone());
    // The call is a task of its own: it goes on if the browser leaves, or a person has to approve it.
    let task = tokio::spawn(async move { gateway.call_tool(&name, arguments, CLIENT).await });
    match timeout(CALL_TIMEOUT, task).await {
        Ok(Ok(result)) => answer(context, result),
        Ok(Err(_)) => {
            html! { p.problem #answer role="alert" { "the call ended without an answer" } }
        }
        Err(_) => html! {
            p #answer role="status" { "The call is still under way. If it waits for an approval, it is in the "
                a href="/page/inbox" { "inbox" } "; when it has ended, it is among the " a href="/page/runs" { "runs" } "." }
        },
    }
}

fn answer(context: &PageContext, result: Result<ToolValue, ToolError>) -> Markup {
    match result {
        Ok(value) => {
            let shown = context.redacted(&pretty(&value.encode().1));
            html! { div #answer role="status" { h3 { "Answer" } pre.output tabindex="0" { (excerpt(&shown, ANSWER_SIZE).text) } } }
        }
        Err(error) => html! {
            div.problem #answer role="alert" { pre { (excerpt(&context.redacted(&error.to_string()), ANSWER_SIZE).text) } }
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_type_of_an_optional_argument_is_that_of_its_values() {
        let rows = [
            (json!({ "type": "string" }), "string"),
            (json!({ "type": ["string", "null"] }), "string"),
            (json!({ "type": ["null", "integer"] }), "integer"),
            (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }), "string"),
            (json!({ "oneOf": [{ "type": "null" }, { "type": ["boolean", "null"] }] }), "boolean"),
            (json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }), "any"),
            (json!({ "type": ["string", "integer"] }), "any"),
            (json!({ "type": "null" }), "null"),
            (json!({ "type": [] }), "any"),
            (json!({ "anyOf": [] }), "any"),
            (json!({}), "any"),
            (json!(true), "any"),
        ];
        for (schema, expected) in rows {
            assert_eq!(kind_of(of_value(&schema).value), expected, "{schema}");
        }
        let choice = json!({ "anyOf": [{ "type": "string", "enum": ["a"] }, { "type": "null" }], "description": "d" });
        assert_eq!(of_value(&choice).of("enum"), Some(&json!(["a"])));
        assert_eq!(of_value(&choice).of("description"), Some(&json!("d")));
    }

    #[test]
    fn texts_have_lines_unless_the_schema_says_otherwise() {
        let is_long = |schema: Value| is_long_text(of_value(&schema));
        assert!(is_long(json!({ "type": "string" })));
        assert!(is_long(json!({ "type": "string", "maxLength": 5_000 })));
        assert!(!is_long(
            json!({ "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }] })
        ));
        assert!(!is_long(json!({ "type": "string", "maxLength": 20 })));
        assert_eq!(in_textarea("\na"), "\n\na");
    }
}
