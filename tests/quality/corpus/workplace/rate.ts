const { rate } = await mcp__rates__get_rate({ currency: "CHF" });
console.log((250 * rate).toFixed(2));
