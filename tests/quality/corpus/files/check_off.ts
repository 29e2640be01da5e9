const path = "FOLDER/notes/2026-01-plan.md";
await mcp__files__edit_file({ path, edits: [{ oldText: "- [ ] move office", newText: "- [x] move office" }] });
const { content } = await mcp__files__read_text_file({ path });
console.log(content.split("\n").filter((l: string) => l.includes("[x]") || l.includes("[ ]")).join("\n"));
