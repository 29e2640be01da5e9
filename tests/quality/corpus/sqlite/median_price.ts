const rows = JSON.parse((await mcp__sqlite__read_query({ query: "SELECT price_cents FROM products ORDER BY price_cents" })).replaceAll("'", '"'));
const prices: number[] = rows.map((r: any) => r.price_cents);
const middle = Math.floor(prices.length / 2);
console.log(prices.length % 2 ? prices[middle] : (prices[middle - 1] + prices[middle]) / 2);
