for (let d = 9; d <= 15; d++) {
  const day = `2026-03-${String(d).padStart(2, "0")}`;
  const sales = await mcp__sales__get_daily_sales({ region: "south", day });
  const cents = sales.products.reduce((sum, p) => sum + p.revenue_cents, 0);
  console.log(day, Math.round(cents / 100));
}
