const paths = (await mcp__files__search_files({ path: "FOLDER/notes", pattern: "**/*.md" })).content.split("\n").sort();
for (const path of paths) {
  const { content } = await mcp__files__read_text_file({ path });
  const name = path.split("/").pop();
  for (const line of content.split("\n")) if (line.startsWith("TODO:")) console.log(`${name}: ${line.slice(5).trim()}`);
}
