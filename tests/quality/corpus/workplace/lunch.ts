const { dishes } = await mcp__office__get_menu({ day: "2026-03-18" });
const cheapest = dishes.reduce((a, b) => (b.cents < a.cents ? b : a));
console.log(`${cheapest.name}, ${(cheapest.cents / 100).toFixed(2)} euros`);
