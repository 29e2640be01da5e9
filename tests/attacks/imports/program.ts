// %% packages of Node
import fs from "fs";
console.log(fs.readdirSync("/"));

// %% with a scheme
import { readFileSync } from "node:fs";
console.log(readFileSync("/etc/passwd"));

// %% files elsewhere
import * as fs from "fs";
for (const path of ["{{secret_file}}", "{{config_file}}", "../../../../etc/passwd", "/proc/self/environ", "/tools/../etc/passwd", "/tmp/../etc/passwd", "file:///etc/passwd", "/etc/passwd\0.txt", "/dev/stdin", "{{probe}}/x"]) {
  for (const use of ["readFileSync", "statSync", "readdirSync", "unlinkSync", "mkdirSync", "writeFileSync"] as const) {
    try {
      (fs as any)[use](path, "x");
      console.log(use, path, "worked");
    } catch (error) {
      if (!["ENOENT", "EACCES", "EROFS", "EPERM", "ENOTDIR", "EINVAL"].includes((error as any).code)) console.log(use, path, String(error));
    }
  }
}
console.log("tried");

// %% later
for (const name of ["fs", "node:child_process", "os", "std", "./secret.js", "/etc/passwd", "{{secret_file}}", "file:///etc/passwd", "https://example.com/x.js", "data:text/javascript,export default 1", "<onecall>/tools.js", "./servers/../../../etc/passwd", "./servers/%2e%2e/x"]) {
  try {
    await import(name);
    console.log(name, "imported");
  } catch (error) {
    console.log(`${(error as Error).name}: ${(error as Error).message.split(":")[0]}`);
  }
}

// %% a file as text
import text from "/etc/passwd" with { type: "text" };
console.log(text);

// %% require
const os = require("os");

// %% through module
module.exports = 1;

// %% the loader of QuickJS
console.log(typeof (globalThis as any).std, typeof (globalThis as any).os, typeof (globalThis as any).bjson, typeof (globalThis as any).scriptArgs, typeof (globalThis as any).print);

// %% itself
import * as me from "<program>";
console.log(me);
