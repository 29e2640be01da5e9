const [orders, customers] = await Promise.all([
  mcp__files__read_text_file({ path: "FOLDER/orders.csv" }),
  mcp__files__read_text_file({ path: "FOLDER/customers.jsonl" }),
]);
const names = new Map<number, string>();
for (const line of customers.content.trim().split("\n")) {
  const c = JSON.parse(line);
  names.set(c.id, c.name);
}
const counts = new Map<number, number>();
for (const row of orders.content.trim().split("\n").slice(1)) {
  const id = Number(row.split(",")[1]);
  counts.set(id, (counts.get(id) ?? 0) + 1);
}
[...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 3).forEach(([id, n]) => console.log(names.get(id), n));
