//! Which programs need a journal, because a call of theirs could ask.

use onecall_core::{Language, Program};

use super::desk::Desk;
use super::world::Process;

#[tokio::test]
async fn a_program_may_ask_if_its_source_does_not_show_that_it_does_not() {
    let process = Process::new(Desk::default());
    let may_ask = async |code: &str, language| {
        process.runtime.may_ask(&Program { language, ..Program::new(code) }).await
    };
    for (code, expected) in [
        ("print(1)", false),
        ("await mcp__s__read(id=1)", false),
        ("await mcp__s__delete(id=1)", true),
        ("f = mcp__s__delete\nawait f(id=1)", true),
        ("tools.mcp__s__read(id=1)", false),
        ("tools.mcp__s__delete(id=1)", true),
        ("getattr(tools, 'mcp__s__read')(id=1)", true),
        ("x = tools", true),
        ("eval('1')", true),
        ("globals()", true),
        ("__import__('os')", true),
        ("import importlib\nimportlib.import_module('x')", true),
        ("await read_resource('a')", false),
    ] {
        assert_eq!(may_ask(code, Language::Python).await, expected, "{code}");
    }
    for (code, expected) in [
        ("console.log(1)", false),
        ("await mcp__s__read({id: 1})", false),
        ("await mcp__s__delete({id: 1})", true),
        ("await tools.mcp__s__read({id: 1})", false),
        ("await tools.mcp__s__delete({id: 1})", true),
        ("await tools['mcp__s__' + x]({id: 1})", true),
        ("globalThis.x", true),
        ("import { remove } from './servers/s';\nawait remove({id: 1})", true),
        ("import * as s from './servers/s';\nawait s[name]({id: 1})", true),
        ("import { callMCPTool } from './mcp-apis/client';\nawait callMCPTool(name, {})", true),
        ("const { tools } = x; await [].constructor.constructor(text)()", true),
        ("import { createHash } from 'crypto';\nconsole.log(createHash('sha256'))", false),
        ("await read_resource({ uri: 'a' })", false),
    ] {
        assert_eq!(may_ask(code, Language::TypeScript).await, expected, "{code}");
    }
}

#[tokio::test]
async fn a_dry_run_names_the_calls_that_ask() {
    let process = Process::new(Desk::default());
    let program = Program::new("await mcp__s__read(id=1)\nawait mcp__s__delete(id=2)");
    assert_eq!(
        process.runtime.preview(&program).await.to_string(),
        "[Dry run: nothing was executed]\n\
         mcp__s__delete: changes something, perhaps destructive; at most once, line 2; asks a person \
         first (approvals.ask: *delete*)\n\
         mcp__s__read: read-only; at most once, line 1"
    );
}
