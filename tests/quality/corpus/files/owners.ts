const found = (await mcp__files__search_files({ path: "FOLDER/notes", pattern: "**/*.md" })).content.split("\n");
const counts = new Map<string, number>();
for (const path of found) {
  const { content } = await mcp__files__read_text_file({ path });
  const owner = content.match(/^Owner: (.+)$/m)?.[1];
  if (owner) counts.set(owner, (counts.get(owner) ?? 0) + 1);
}
for (const [owner, n] of [...counts.entries()].sort()) console.log(owner, n);
