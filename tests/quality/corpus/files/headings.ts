const tree = JSON.parse((await mcp__files__directory_tree({ path: "FOLDER/notes" })).content);
const names = tree.map((e: { name: string }) => e.name).sort();
const heads = await Promise.all(names.map((n: string) => mcp__files__read_text_file({ path: `FOLDER/notes/${n}`, head: 1 })));
heads.forEach((h: any) => console.log(h.content.replace(/^# /, "").trim()));
