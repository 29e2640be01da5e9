async function total(metric: "visits" | "purchases") {
  const { rows } = await mcp__analytics__query_metric({ metric, from: "2026-03-01", to: "2026-03-07" });
  return rows.reduce((sum: number, row: any) => sum + row.value, 0);
}
console.log(((100 * (await total("purchases"))) / (await total("visits"))).toFixed(2));
