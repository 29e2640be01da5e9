const cities = ["New York", "Chicago", "Los Angeles"] as const;
const all = await Promise.all(cities.map((location) => mcp__everything__get_structured_content({ location })));
const warmest = Math.max(...all.map((w) => w.temperature));
console.log(cities[all.findIndex((w) => w.temperature === warmest)]);
