const regions = ["north", "south", "east", "west", "central", "islands"].sort();
const days = await Promise.all(regions.map((region: any) => mcp__sales__get_daily_sales({ region, day: "2026-03-10" })));
regions.forEach((region, i) => {
  const cents = days[i].products.reduce((sum: number, p: any) => sum + p.revenue_cents, 0);
  console.log(`${region} ${(cents / 100).toFixed(2)}`);
});
