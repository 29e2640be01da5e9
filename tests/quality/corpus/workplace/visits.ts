const result = await mcp__analytics__query_metric({ metric: "visits", from: "2026-03-01", to: "2026-03-07" });
console.log(result.rows.reduce((total: number, row: any) => total + row.value, 0));
