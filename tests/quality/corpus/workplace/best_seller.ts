const units: Record<string, number> = {};
for (const region of ["north", "south", "east", "west", "central", "islands"] as const) {
  const { products } = await mcp__sales__get_daily_sales({ region, day: "2026-03-11" });
  for (const p of products) units[p.name] = (units[p.name] ?? 0) + p.units;
}
const [best] = Object.entries(units).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
console.log(best[0], best[1]);
