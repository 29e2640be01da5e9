// Paths, the parts of `process` that do not depend on the machine, and output without a line end.
import path from "node:path";
import process from "node:process";

for (const file of ["/srv/data/report.final.csv", "notes.md", "/a/b/../c/./d.txt", "folder/", ".bashrc", "/", ""]) {
  console.log(JSON.stringify(file), path.dirname(file), path.basename(file), path.extname(file), path.isAbsolute(file), path.normalize(file));
}
console.log(path.join("a", "..", "b", "./c.txt"), path.join("", "x"), path.resolve("/a", "b", "../c"), path.relative("/data/a/b", "/data/c"));
console.log(path.parse("/home/user/file.tar.gz"), path.sep, path.basename("report.csv", ".csv"));

process.stdout.write("one, ");
process.stdout.write("two\n");
console.log(typeof process.env, process.env.SURELY_NOT_SET, process.exitCode, Array.isArray(process.argv), process.argv.length >= 2);
console.log(typeof process.cwd(), process.cwd().startsWith("/"), process.platform);
await new Promise((resolve) => process.nextTick(resolve));
const order = [];
await Promise.all([
  new Promise((resolve) => setTimeout(() => { order.push("timer"); resolve(); }, 5)),
  new Promise((resolve) => process.nextTick((word) => { order.push(word); resolve(); }, "tick")),
]);
console.log(order);
const sum = await mcp__fixture__add({ a: 1, b: 2 });
process.stdout.write(`${sum}\n`);
console.log(["a/", "a/b/", "//", "./", "../x/"].map((it) => [path.dirname(it), path.basename(it), path.normalize(it), path.join("/r", it)]));
