const { content } = await mcp__files__read_text_file({ path: "FOLDER/logs/access.log" });
const counts = new Map<string, number>();
for (const line of content.trim().split("\n")) {
  const address = line.split(" ")[1];
  counts.set(address, (counts.get(address) ?? 0) + 1);
}
const [most] = [...counts].sort((a, b) => b[1] - a[1]);
console.log(counts.size, most[0]);
