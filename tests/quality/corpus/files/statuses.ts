const { content } = await mcp__files__read_text_file({ path: "FOLDER/orders.csv" });
const [header, ...rows] = content.trim().split("\n");
const column = header.split(",").indexOf("status");
const counts: Record<string, number> = {};
for (const row of rows) {
  const status = row.split(",")[column];
  counts[status] = (counts[status] || 0) + 1;
}
Object.entries(counts).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).forEach(([s, n]) => console.log(s, n));
