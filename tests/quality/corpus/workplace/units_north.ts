const sales = await mcp__sales__get_daily_sales({ region: "north", day: "2026-03-10" });
console.log(sales.products.reduce((n, p) => n + p.units, 0));
