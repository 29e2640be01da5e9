const { preliminary } = await mcp__sales__get_daily_sales({ region: "islands", day: "2026-03-10" });
console.log(preliminary ? "yes" : "no");
