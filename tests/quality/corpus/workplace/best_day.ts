const { rows } = await mcp__analytics__query_metric({ metric: "purchases", from: "2026-03-01", to: "2026-03-31" });
const days = new Map<string, number>();
for (const { day, value } of rows) days.set(day, (days.get(day) ?? 0) + value);
console.log([...days].sort((a, b) => b[1] - a[1])[0][0]);
