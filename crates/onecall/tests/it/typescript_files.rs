//! The files of TypeScript programs: the workspace, `/tools` and scratch files.

use serde_json::json;

use crate::support::{Gateway, Home, failed, fixture, printed};

fn gateway(mode: &str) -> Gateway {
    let home = Home::with_config(&json!({
        "servers": [fixture("fixture", &[])],
        "workspace": { "path": "data", "mode": mode },
    }));
    home.write("data/orders.csv", "id,total\n1,10\n2,32\n");
    home.write("data/notes/a.txt", "ä");
    Gateway::in_home(home)
}

#[test]
fn files_of_the_workspace_are_read_and_written() {
    let mut gateway = gateway("read-write");
    let code = r#"
        import fs, { existsSync } from "node:fs";
        import { readFile, writeFile } from "fs/promises";
        import path from "path";
        const lines = fs.readFileSync("orders.csv", "utf8").trim().split("\n").slice(1);
        const total = lines.reduce((sum, line) => sum + Number(line.split(",")[1]), 0);
        fs.mkdirSync("out/deep", { recursive: true });
        await writeFile(path.join("out", "total.json"), JSON.stringify({ total }));
        fs.appendFileSync("out/total.json", "\n");
        console.log(JSON.parse(await readFile("out/total.json", "utf-8")), existsSync("out/none"));
        console.log(fs.readFileSync("notes/a.txt"), fs.readFileSync("notes/a.txt").toString());
        fs.writeFileSync("out/deep/bytes", new Uint8Array([0, 200, 255]));
        console.log([...fs.readFileSync("out/deep/bytes")], fs.readFileSync("out/deep/bytes", "hex"));
        console.log(fs.readdirSync(".", { recursive: true }));
        for (const entry of fs.readdirSync(".", { withFileTypes: true })) console.log(entry.name, entry.isDirectory());
        fs.renameSync("out/total.json", "total.json");
        fs.rmSync("out", { recursive: true });
        console.log(fs.statSync("total.json").size, fs.readdirSync("."), path.resolve("x").endsWith("/data/x"));
    "#;
    assert_eq!(
        printed(&gateway.execute_typescript(code)),
        "{ total: 42 } false\n\
         Buffer(2) [ 195, 164 ] ä\n\
         [ 0, 200, 255 ] 00c8ff\n\
         [\n  'notes',\n  'notes/a.txt',\n  'orders.csv',\n  'out',\n  'out/deep',\n  \
         'out/deep/bytes',\n  'out/total.json'\n]\n\
         notes true\norders.csv false\nout true\n\
         13 [ 'notes', 'orders.csv', 'total.json' ] true\n"
    );
    assert_eq!(gateway.prints("print(open('total.json').read())"), "{\"total\":42}\n\n");
}

#[test]
fn errors_are_those_of_node() {
    let mut gateway = gateway("read-only");
    let code = r#"
        import fs from "fs";
        const attempt = (work) => { try { console.log(work()) } catch (error) { console.log(error.code, error.message) } };
        attempt(() => fs.readFileSync("missing.txt", "utf8"));
        attempt(() => fs.readFileSync("../../secret"));
        attempt(() => fs.readFileSync("notes"));
        attempt(() => fs.writeFileSync("orders.csv", ""));
        attempt(() => fs.rmSync("missing", { force: true }));
        attempt(() => fs.readdirSync("orders.csv"));
        attempt(() => fs.statSync("missing", { throwIfNoEntry: false }));
        attempt(() => fs.readFileSync("orders.csv", "utf8").length);
    "#;
    let text = printed(&gateway.execute_typescript(code));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "ENOENT ENOENT: no such file or directory, open 'missing.txt'", "{text}");
    assert_eq!(
        lines[1],
        "ENOENT ENOENT: no such file or directory, open '../../secret' (outside of the workspace)",
        "{text}"
    );
    assert!(lines[2].starts_with("EISDIR "), "{text}");
    assert!(lines[3].starts_with("EROFS ") || lines[3].starts_with("EACCES "), "{text}");
    assert_eq!(lines[4], "undefined", "{text}");
    assert!(lines[5].starts_with("ENOTDIR "), "{text}");
    assert_eq!(lines[6..], ["undefined", "19"], "{text}");
}

#[test]
fn tools_and_scratch_files_are_there() {
    let mut gateway = Gateway::new();
    let tools = r#"
        import { readFileSync, readdirSync } from "fs";
        console.log(readdirSync("/tools"), readFileSync("/tools/fixture/add.ts", "utf8"));
    "#;
    assert_eq!(
        printed(&gateway.execute_typescript(tools)),
        "[ 'fixture' ] // Adds two numbers.\n\
         export declare function mcp__fixture__add(args: { a: number; b: number }): \
         Promise<number>;\n\n"
    );
    let scratch = r#"
        import * as fs from "fs";
        fs.writeFileSync("/tmp/a.txt", "hi");
        console.log(fs.readFileSync("/tmp/a.txt", "utf8"), fs.readdirSync("/tmp"));
    "#;
    for _ in 0..2 {
        assert_eq!(printed(&gateway.execute_typescript(scratch)), "hi [ 'a.txt' ]\n");
    }
    let uncaught =
        failed(&gateway.execute_typescript("import fs from 'fs';\nfs.readFileSync('no.txt');"));
    assert!(
        uncaught.starts_with(
            "<program>:2:4\nfs.readFileSync('no.txt');\n   ^\n\
             Error: ENOENT: no such file or directory, open 'no.txt' (outside of the workspace)\n"
        ),
        "{uncaught}"
    );
}

/// Without a sandbox, programs of both languages use the files of the machine.
#[test]
fn without_a_sandbox_all_files_are_there() {
    let home = Home::with_config(&json!({
        "sandbox": "off",
        "workspace": { "path": "data", "mode": "read-write" },
    }));
    home.write("data/orders.csv", "id,total\n1,10\n2,32\n");
    home.write("elsewhere/b.txt", "b");
    let elsewhere = home.text_path("elsewhere");
    let mut gateway = Gateway::in_home(home);
    let code = format!(
        r#"
        import fs from "fs";
        import path from "path";
        const elsewhere = {elsewhere:?};
        fs.mkdirSync("out");
        fs.writeFileSync("out/a.txt", "a");
        fs.appendFileSync("out/a.txt", "b");
        fs.copyFileSync("out/a.txt", path.join(elsewhere, "c.txt"));
        fs.renameSync("out/a.txt", `${{elsewhere}}/a.txt`);
        fs.rmSync("out", {{ recursive: true }});
        console.log(fs.readFileSync("orders.csv", "utf8").length, fs.readdirSync("."), fs.readdirSync(elsewhere));
        for (const entry of fs.readdirSync(path.dirname(elsewhere), {{ withFileTypes: true }})) {{
          if (entry.name === "elsewhere") console.log(entry.isDirectory(), entry.isFile());
        }}
        const {{ size, mtime }} = fs.statSync(`${{elsewhere}}/a.txt`);
        console.log(size, mtime.getFullYear() > 2000, fs.existsSync("/"), process.cwd() === path.resolve("."));
        try {{ fs.readFileSync("missing") }} catch (error) {{ console.log(error.message) }}
        try {{ fs.rmdirSync(elsewhere) }} catch (error) {{ console.log(error.code) }}
    "#
    );
    assert_eq!(
        printed(&gateway.execute_typescript(&code)),
        "19 [ 'orders.csv' ] [ 'a.txt', 'b.txt', 'c.txt' ]\n\
         true false\n\
         2 true true true\n\
         ENOENT: no such file or directory, open 'missing'\n\
         ENOTEMPTY\n"
    );
    assert_eq!(gateway.prints(&format!("print(open({elsewhere:?} + '/c.txt').read())")), "ab\n");
}
