const names = ["2026-01-plan.md", "2026-02-retro.md", "2026-03-ideas.md"];
const notes = await Promise.all(names.map((n) => mcp__files__read_text_file({ path: `FOLDER/notes/${n}` })));
console.log(notes.reduce((sum, note) => sum + note.content.split(/\s+/).filter(Boolean).length, 0));
