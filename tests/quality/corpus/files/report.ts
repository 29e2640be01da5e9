const rows = (await mcp__files__read_text_file({ path: "FOLDER/orders.csv" })).content.trim().split("\n").slice(1);
const counts: { [status: string]: number } = {};
for (const row of rows) {
  const status = row.split(",").at(-1)!;
  counts[status] = (counts[status] ?? 0) + 1;
}
const report = ["# Orders", "", ...Object.keys(counts).sort().map((s) => `- ${s}: ${counts[s]}`)].join("\n") + "\n";
await mcp__files__write_file({ path: "FOLDER/report.md", content: report });
console.log((await mcp__files__read_text_file({ path: "FOLDER/report.md" })).content);
