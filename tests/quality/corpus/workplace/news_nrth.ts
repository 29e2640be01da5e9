const { articles } = await mcp__finance__search_news({ ticker: "NRTH", days: 30 });
const count = (s: string) => articles.filter((a) => a.sentiment === s).length;
console.log(["positive", "neutral", "negative"].map(count).join("/"));
