type Sale = { id: string; date: string; region: string; product: string; customer: string; quantity?: number; amount?: number };
const sales = (await mcp__fixture__query_sales({})) as Sale[] | { rows: Sale[] };
const rows: any[] = Array.isArray(sales) ? sales : sales.rows;
console.log(rows.length, Object.keys(rows[0]));
const byRegion: Record<string, any[]> = {};
for (const row of rows) (byRegion[row.region] ??= []).push(row);
for (const region of Object.keys(byRegion).sort()) {
  const group = byRegion[region]!;
  console.log(region.padEnd(10), String(group.length).padStart(4), group[0]);
}
const months = rows.reduce<Record<string, number>>((acc, row) => {
  const month = row.date.slice(0, 7);
  acc[month] = (acc[month] ?? 0) + 1;
  return acc;
}, {});
console.log(months);
console.log(Object.entries(months).sort(([, a], [, b]) => b - a).slice(0, 3));
