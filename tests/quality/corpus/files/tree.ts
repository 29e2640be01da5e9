type Entry = { name: string; type: string; children?: Entry[] };
const paths: string[] = [];
function walk(entries: Entry[], prefix: string) {
  for (const entry of entries) {
    const path = prefix + entry.name;
    if (entry.type === "directory") {
      paths.push(path + "/");
      walk(entry.children ?? [], path + "/");
    } else paths.push(path);
  }
}
walk(JSON.parse((await mcp__files__directory_tree({ path: "FOLDER" })).content), "");
console.log(paths.sort().join("\n"));
