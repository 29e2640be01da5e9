//! What TypeScript programs import: servers, their categories and tools, and the client that
//! calls tools by name, in the paths of generated folders.

use serde_json::{Value, json};

use crate::support::{Gateway, failed, printed, script};

/// A server whose tools answer with the number of the call.
fn counting(name: &str, tools: &[&str]) -> Value {
    let schema = json!({ "type": "object" });
    let tools: Vec<Value> =
        tools.iter().map(|name| json!({ "name": name, "inputSchema": schema })).collect();
    let answer = json!({ "content": [{ "type": "text", "text": "$count_text" }] });
    script(name, &json!({ "tools": tools, "on": { "tools/call": [{ "answer": answer }] } }))
}

fn library() -> Value {
    counting("library", &["find_books", "find_authors", "add-book", "check_isbn", "shelve"])
}

fn with(config: &Value) -> Gateway {
    Gateway::with_config(config)
}

/// The last line of a failure.
fn problem(gateway: &mut Gateway, code: &str) -> String {
    let text = failed(&gateway.execute_typescript(code));
    // A hint may follow, in brackets.
    text.lines().rev().find(|line| !line.starts_with('[')).unwrap_or_default().to_owned()
}

#[test]
fn a_category_is_imported_in_every_way() {
    let mut gateway = with(&json!({ "servers": [library()] }));
    let answer = gateway.execute_typescript(
        "
        import { findBooks, find_authors } from './mcp-apis/library/query';
        import * as query from '../mcp-apis/library/query/index.ts';
        import mutation, { addBook } from './servers/library/mutation/';
        import findOne, { find_books } from './mcp-apis/library/query/find_books.js';
        import add from 'mcp-apis/library/mutation/add-book';
        import { type Isbn, checkIsbn } from '../../mcp-apis/library/validation/index.js';
        import type { Book } from './mcp-apis/library/nothing';
        import * as library from './mcp-apis/library';
        const numbers = [];
        for (const tool of [findBooks, find_authors, query.findBooks, mutation.addBook, addBook,
                            findOne, find_books, add, checkIsbn, library.shelve]) {
            numbers.push(await tool());
        }
        console.log(...numbers, Object.keys(query).join());
        const { shelve } = await import('./mcp-apis/library/other');
        console.log(await shelve());
        ",
    );
    assert_eq!(
        printed(&answer),
        "1 2 3 4 5 6 7 8 9 10 default,findAuthors,findBooks,find_authors,find_books\n11\n"
    );
}

#[test]
fn the_configuration_moves_tools_between_categories() {
    let categories = json!({ "mcp__library__shelve": "mutation" });
    let config = json!({ "servers": [library()], "generate": { "categories": categories } });
    let mut gateway = with(&config);
    let code =
        "import { shelve } from './mcp-apis/library/mutation';\nconsole.log(await shelve());";
    assert_eq!(printed(&gateway.execute_typescript(code)), "1\n");
    assert_eq!(
        problem(&mut gateway, "import * as it from './mcp-apis/library/other'; it"),
        "SyntaxError: server 'library' has no tools in 'other', only in query, mutation, validation"
    );
}

#[test]
fn a_tool_may_be_named_like_a_category() {
    let mut gateway = with(&json!({ "servers": [counting("db", &["query", "list_tables"])] }));
    let code = "
        import run, { query, listTables } from './mcp-apis/db/query';
        import one from './mcp-apis/db/query/query';
        console.log(run === query, await query(), await listTables(), await one());
    ";
    assert_eq!(printed(&gateway.execute_typescript(code)), "true 1 2 3\n");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let mut gateway = with(&json!({ "servers": [library()] }));
    let said = [
        (
            "import { findBook } from './mcp-apis/library/query'; findBook",
            "'./mcp-apis/library/query' has no tool 'findBook'. Did you mean: 'findBooks' or \
             'find_books'?",
        ),
        (
            "import { addBook } from './mcp-apis/library/query'; addBook",
            "'./mcp-apis/library/query' has no tool 'addBook'; it is in \
             './mcp-apis/library/mutation'",
        ),
        (
            "import it from './mcp-apis/library/qurey'; it",
            "server 'library' has no tool or category 'qurey'. Did you mean: 'query'?",
        ),
        (
            "import it from './mcp-apis/library/query/find_book.js'; it",
            "server 'library' has no tool 'find_book'. Did you mean: 'find_books' or 'findBooks'?",
        ),
        (
            "import it from './mcp-apis/library/query/shelve'; it",
            "server 'library' has the tool 'shelve' in 'other', not in 'query'",
        ),
        (
            "import it from './mcp-apis/library/queries/find_books'; it",
            "there is no category 'queries' of tools, only query, mutation, validation, other",
        ),
        (
            "import it from './mcp-apis/libary/query'; it",
            "there is no server 'libary' with tools; there are: library",
        ),
        (
            "import * as it from './mcp-apis'; it",
            "'./mcp-apis' is the folder of all servers; import from './mcp-apis/<server>'",
        ),
        (
            "import { clearCach } from './mcp-apis/client'; clearCach",
            "'./mcp-apis/client' has no function 'clearCach'. Did you mean: 'clearCache'?",
        ),
        (
            "import net from 'node:net'; net",
            "'node:net' cannot be imported: a program has what JavaScript has, and tools from \
             './servers/<server>' or './mcp-apis/<server>/<category>', 'fs' and 'path' for the \
             workspace, and hashes from 'crypto'; there are no packages and no network",
        ),
    ];
    for (code, expected) in said {
        assert_eq!(problem(&mut gateway, code), format!("SyntaxError: {expected}"), "{code}");
    }
}

#[test]
fn tools_are_called_by_name_through_the_client() {
    let blocked = json!({ "block": ["mcp__library__shelve"] });
    let mut gateway = with(&json!({ "servers": [library()], "tools": blocked }));
    let code = "
        import { callMCPTool, call, close, disconnectMCP, clearCache } from '../../client.js';
        import * as client from './mcp-apis/client';
        const names = ['mcp__library__find_books', 'mcp_library_find_books', 'find_books'];
        for (const name of names) console.log(await callMCPTool<number>(name, {}));
        console.log(await call('add-book'), client.ToolError === ToolError, await clearCache('x'));
        await close();
        await disconnectMCP();
        for (const name of ['mcp_library_find_book', 'shelve', 'mcp_library_shelve']) {
            await callMCPTool(name).catch((error) => console.log(`${error}`));
        }
    ";
    assert_eq!(
        printed(&gateway.execute_typescript(code)),
        "1\n2\n3\n4 true 0\n\
         ToolError: there is no tool 'mcp_library_find_book'. Did you mean: \
         'mcp__library__find_books' or 'mcp__library__add_book'?\n\
         ToolError: 'shelve' is not available in execute_program\n\
         ToolError: 'mcp_library_shelve' is not available in execute_program\n"
    );
}

#[test]
fn kept_answers_are_forgotten_by_a_part_of_the_name() {
    let cache = json!({ "include": ["mcp__library__find_*"] });
    let mut gateway = with(&json!({ "servers": [library()], "cache": cache }));
    let code = "
        import { findBooks, findAuthors } from './mcp-apis/library/query';
        import { clearCache } from './mcp-apis/client.js';
        const ask = async () => console.log(await findBooks(), await findAuthors());
        await ask();
        await ask();
        console.log(await clearCache('books'));
        await ask();
        clearCache('find_books:{}');
        await ask();
        console.log(await clearCache());
        await ask();
    ";
    assert_eq!(printed(&gateway.execute_typescript(code)), "1 2\n1 2\n1\n3 2\n4 2\n2\n5 6\n");
}
