//! `onecall generate`: what it writes, what it leaves alone, and what its exit codes say.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{CommandResult, Home, finish, fixture};

/// A home with a server `shop` that has these tools.
fn shop(tools: &[(&str, &str)]) -> Home {
    let home = Home::new();
    home.write_tools("tools.json", tools);
    let servers = [fixture("shop", &["--tools-file", &home.text_path("tools.json")])];
    home.write("config.json", json!({ "servers": servers }).to_string());
    home
}

const TOOLS: [(&str, &str); 3] =
    [("list_orders", "Lists orders."), ("delete-order", "Deletes one. */"), ("echo", "")];

fn generate(home: &Home, language: &str, more: &[&str]) -> CommandResult {
    let mut arguments = vec!["generate", "--lang", language, "--out", "out"];
    arguments.extend(more);
    finish(home.onecall_with_config(&arguments))
}

fn out(home: &Home, path: &str) -> PathBuf {
    home.path("work/out").join(path)
}

fn read(home: &Home, path: &str) -> String {
    fs::read_to_string(out(home, path)).unwrap_or_default()
}

/// Every file below a folder, by path, with the time it was changed.
fn files(folder: &Path) -> Vec<(String, SystemTime)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            if entry.path().is_dir() {
                waiting.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(folder).unwrap().display().to_string();
                found.push((path, entry.metadata().unwrap().modified().unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn paths(folder: &Path) -> String {
    files(folder).into_iter().map(|(path, _)| path + "\n").collect()
}

#[test]
fn a_tree_in_typescript() {
    let home = shop(&TOOLS);
    let ended = generate(&home, "typescript", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "out: 3 tools in 14 files; 14 written, 0 removed, 0 unchanged\n");
    assert_snapshot!(paths(&out(&home, "")));
    assert_snapshot!(read(&home, "shop/mutation/delete-order.ts"));
}

#[test]
fn a_package_in_python() {
    let home = shop(&TOOLS);
    let ended = generate(&home, "python", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_snapshot!(read(&home, "shop/__init__.py"));
    assert_snapshot!(read(&home, "shop/query/list_orders.py"));
}

#[test]
fn only_what_has_changed_is_written() {
    let home = shop(&TOOLS);
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    let before = files(&out(&home, ""));
    let again = generate(&home, "typescript", &[]);
    assert_eq!(again.stdout, "out: 3 tools in 14 files; 0 written, 0 removed, 14 unchanged\n");
    assert_eq!(files(&out(&home, "")), before);

    home.write_tools("tools.json", &[("list_orders", "Other words."), TOOLS[1], TOOLS[2]]);
    let ended = generate(&home, "typescript", &[]);
    assert_eq!(ended.stdout, "out: 3 tools in 14 files; 1 written, 0 removed, 13 unchanged\n");
    assert!(read(&home, "shop/query/list_orders.ts").contains("Other words."));
}

#[test]
fn files_of_tools_that_are_gone_go() {
    let home = shop(&TOOLS);
    home.write("work/out/notes.txt", "mine");
    assert_eq!(generate(&home, "python", &[]).code, Some(0));
    home.write_tools("tools.json", &TOOLS[..1]);
    let ended = generate(&home, "python", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_snapshot!(paths(&out(&home, "")));
    assert_eq!(read(&home, "notes.txt"), "mine");
}

#[test]
fn what_somebody_has_edited_stays() {
    let home = shop(&TOOLS);
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    fs::write(out(&home, "shop/query/list_orders.ts"), "// mine\n").unwrap();
    fs::write(out(&home, "shop/other/echo.ts"), "// mine too\n").unwrap();
    home.write_tools("tools.json", &TOOLS[..2]);
    let ended = generate(&home, "typescript", &[]);
    assert_eq!(ended.code, Some(1));
    assert_snapshot!(ended.stderr);
    assert_eq!(read(&home, "shop/query/list_orders.ts"), "// mine\n");
    assert_eq!(read(&home, "shop/other/echo.ts"), "// mine too\n");
    // They are still known as edited.
    assert_eq!(generate(&home, "typescript", &[]).code, Some(1));
    assert_eq!(generate(&home, "typescript", &["--force"]).code, Some(0));
    assert!(read(&home, "shop/query/list_orders.ts").contains("Lists orders."));
    assert!(!out(&home, "shop/other").exists());
}

#[test]
fn a_file_of_somebody_else_is_not_overwritten() {
    let home = shop(&TOOLS);
    home.write("work/out/README.md", "mine");
    let ended = generate(&home, "typescript", &[]);
    assert_eq!((ended.code, read(&home, "README.md").as_str()), (Some(1), "mine"));
    assert_eq!(
        ended.stderr,
        "Kept README.md: it was not written by onecall, or was edited since; --force overwrites it\n"
    );
}

#[test]
fn check_lists_what_differs_and_writes_nothing() {
    let home = shop(&TOOLS);
    let ended = generate(&home, "typescript", &["--check"]);
    assert_eq!(ended.code, Some(1));
    assert!(!out(&home, "").exists());
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    let ended = generate(&home, "typescript", &["--check"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));

    home.write_tools("tools.json", &[("list_orders", "Other words."), ("get_order", ""), TOOLS[1]]);
    fs::write(out(&home, "client.ts"), "// mine\n").unwrap();
    let before = files(&out(&home, ""));
    let ended = generate(&home, "typescript", &["--check"]);
    assert_eq!(ended.code, Some(1));
    assert_snapshot!(ended.stdout + &ended.stderr);
    assert_eq!(files(&out(&home, "")), before);
}

#[test]
fn the_configuration_sorts_tools_otherwise() {
    let home = shop(&TOOLS);
    let servers = json!([fixture("shop", &["--tools-file", &home.text_path("tools.json")])]);
    let categories = json!({ "mcp__shop__e*": "validation", "mcp__shop__*": "other" });
    let config = json!({ "servers": servers, "generate": { "categories": categories } });
    home.write("config.json", config.to_string());
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    let is_tool = |path: &&str| path.starts_with("shop/") && !path.ends_with("index.ts");
    let found = paths(&out(&home, ""));
    let found: Vec<&str> = found.lines().filter(is_tool).collect();
    let expected =
        ["shop/other/delete-order.ts", "shop/other/list_orders.ts", "shop/validation/echo.ts"];
    assert_eq!(found, expected);
}

#[test]
fn servers_can_be_chosen() {
    let home = Home::new();
    home.write_tools("tools.json", &TOOLS);
    let path = home.text_path("tools.json");
    let servers = ["one", "two", "three"].map(|name| fixture(name, &["--tools-file", &path]));
    home.write("config.json", json!({ "servers": servers }).to_string());
    let ended = generate(&home, "typescript", &["--server", "one", "--server", "three"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let exists = ["one", "two", "three"].map(|server| out(&home, server).exists());
    assert_eq!(exists, [true, false, true]);
    let ended = generate(&home, "typescript", &["--server", "four"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "error: there is no server 'four' in the configuration; configured servers: one, two, three\n"
    );
}

#[test]
fn a_server_that_is_down_removes_nothing() {
    let home = shop(&TOOLS);
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    let before = files(&out(&home, ""));
    let servers = json!([{ "name": "shop", "command": "/nonexistent" }, fixture("other", &[])]);
    home.write("config.json", json!({ "servers": servers }).to_string());
    let ended = generate(&home, "typescript", &[]);
    assert_eq!(ended.code, Some(2));
    let said: Vec<&str> = ended.stderr.lines().filter(|it| !it.contains(" WARN ")).collect();
    assert_snapshot!(said.join("\n"));
    assert_eq!(files(&out(&home, "")), before);
}

#[test]
fn no_link_is_followed_out_of_the_folder() {
    let home = shop(&TOOLS);
    fs::create_dir_all(home.path("elsewhere")).unwrap();
    fs::create_dir_all(out(&home, "")).unwrap();
    symlink(home.path("elsewhere"), out(&home, "shop")).unwrap();
    let ended = generate(&home, "typescript", &[]);
    assert_eq!(ended.code, Some(2));
    let said = "error: 'out/shop' is a link, which is not followed; remove it\n";
    assert_eq!(ended.stderr, said);
    assert_eq!(files(&home.path("elsewhere")), []);
}

#[test]
fn a_manifest_cannot_name_files_elsewhere() {
    let home = shop(&TOOLS);
    home.write("precious", "");
    // The digest of nothing.
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for path in ["../../precious", "/precious", "a/../../../precious"] {
        let manifest = json!({ "language": "typescript", "files": { path: digest } });
        home.write("work/out/.onecall-generated.json", manifest.to_string());
        let ended = generate(&home, "typescript", &[]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("names a file outside of its folder"), "{}", ended.stderr);
    }
    assert!(home.path("precious").exists());
}

#[test]
fn a_folder_has_one_language() {
    let home = shop(&TOOLS);
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    let ended = generate(&home, "python", &[]);
    assert_eq!(ended.code, Some(2));
    let said = "error: 'out' has files in typescript; write those in python to another folder\n";
    assert_eq!(ended.stderr, said);
}

#[test]
fn files_are_named_as_tools_are() {
    let names =
        ["get_items", "getItem", "GETITEM", "a.b/c", "-rf", "aux", "delete", "größe", "index"];
    let home = shop(&names.map(|name| (name, "")));
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    assert_snapshot!(paths(&out(&home, "shop")));
    assert_snapshot!(read(&home, "shop/query/index.ts"));
}

#[test]
fn a_name_that_changes_only_its_case_is_another_file() {
    let home = shop(&[("Get_item", "")]);
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    home.write_tools("tools.json", &[("get_item", "")]);
    let ended = generate(&home, "typescript", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = paths(&out(&home, "shop/query"));
    assert_eq!(found, "get_item.ts\nindex.ts\n");
    assert!(read(&home, "shop/query/get_item.ts").contains("mcp__shop__get_item"));
}

#[test]
fn files_with_the_names_of_an_earlier_version_go() {
    let home = shop(&TOOLS);
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    // As they were called before, with what the manifest knows of them.
    let (old, new) = ("shop/query/listOrders.ts", "shop/query/list_orders.ts");
    fs::rename(out(&home, new), out(&home, old)).unwrap();
    let manifest = read(&home, ".onecall-generated.json").replace(new, old);
    home.write("work/out/.onecall-generated.json", manifest);
    let ended = generate(&home, "typescript", &[]);
    assert_eq!(ended.stdout, "out: 3 tools in 14 files; 1 written, 1 removed, 13 unchanged\n");
    assert!(out(&home, new).exists() && !out(&home, old).exists());
}

#[test]
fn the_readme_names_the_folder_as_it_is() {
    for (folder, expected) in [("mcp-apis", "./mcp-apis/"), ("my tools", "./tools/")] {
        let home = shop(&TOOLS);
        let arguments = ["generate", "--lang", "typescript", "--out", folder];
        assert_eq!(finish(home.onecall_with_config(&arguments)).code, Some(0));
        let readme = fs::read_to_string(home.path("work").join(folder).join("README.md")).unwrap();
        assert!(readme.contains(&format!("from \"{expected}shop/query/index.js\"")), "{readme}");
    }
}

#[test]
fn no_server_writes_into_the_readme() {
    let home = shop(&[]);
    let hostile = "```\n# Run this";
    let schema = json!({
        "type": "object",
        "properties": { hostile: { "enum": [hostile] } },
        "required": [hostile],
    });
    let tools = json!([{ "name": format!("list {hostile}"), "inputSchema": schema }]);
    home.write("tools.json", tools.to_string());
    assert_eq!(generate(&home, "typescript", &[]).code, Some(0));
    let readme = read(&home, "README.md");
    assert!(
        readme
            .contains(r#"{ "\u0060\u0060\u0060\n# Run this": "\u0060\u0060\u0060\n# Run this" }"#)
    );
    let headings: Vec<&str> = readme.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!((readme.matches("```").count(), headings.len()), (6, 2), "{readme}");
}
