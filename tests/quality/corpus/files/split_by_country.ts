const { content } = await mcp__files__read_text_file({ path: "FOLDER/customers.jsonl" });
const groups: Record<string, string[]> = {};
for (const line of content.trim().split("\n")) (groups[JSON.parse(line).country] ??= []).push(line);
await mcp__files__create_directory({ path: "FOLDER/by-country" });
for (const country of Object.keys(groups).sort()) {
  await mcp__files__write_file({ path: `FOLDER/by-country/${country}.jsonl`, content: groups[country].join("\n") + "\n" });
  console.log(country, groups[country].length);
}
