const data = await mcp__analytics__query_metric({ metric: "signups", from: "2026-03-01", to: "2026-03-14", group_by: "channel" });
const totals: Record<string, number> = {};
for (const row of data.rows) totals[row.channel] = (totals[row.channel] ?? 0) + row.value;
const [[name, n]] = Object.entries(totals).sort((a, b) => b[1] - a[1]);
console.log(name, n);
