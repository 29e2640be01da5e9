await mcp__files__create_directory({ path: "FOLDER/archive" });
const list = async (path: string) =>
  (await mcp__files__list_directory({ path })).content.split("\n").filter((l: string) => l.startsWith("[FILE] ")).map((l: string) => l.replace("[FILE] ", ""));
for (const name of await list("FOLDER/notes")) {
  if (/^2026-0[12]/.test(name)) {
    await mcp__files__move_file({ source: `FOLDER/notes/${name}`, destination: `FOLDER/archive/${name}` });
  }
}
console.log((await list("FOLDER/archive")).sort().join("\n"));
