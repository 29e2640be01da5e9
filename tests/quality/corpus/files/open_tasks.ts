const listing = (await mcp__files__list_directory({ path: "FOLDER/notes" })).content;
const names = listing.split("\n").filter((l: string) => l.startsWith("[FILE]")).map((l: string) => l.slice(7)).sort();
for (const name of names) {
  const { content } = await mcp__files__read_text_file({ path: `FOLDER/notes/${name}` });
  for (const line of content.split("\n")) {
    const match = /^- \[ \] (.*)$/.exec(line);
    if (match) console.log(match[1]);
  }
}
