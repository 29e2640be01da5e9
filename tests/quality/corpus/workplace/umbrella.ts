const forecast = await mcp__office__get_forecast({ city: "Berlin", day: "2026-03-18" });
console.log(forecast.rain_percent >= 50 ? "yes" : "no");
