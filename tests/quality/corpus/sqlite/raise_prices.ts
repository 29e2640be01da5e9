await mcp__sqlite__write_query({ query: "UPDATE products SET price_cents = price_cents * 11 / 10 WHERE category = 'games'" });
const text = await mcp__sqlite__read_query({ query: "SELECT price_cents FROM products WHERE category = 'games' ORDER BY id" });
console.log(JSON.parse(text.replaceAll("'", '"')).map((r: any) => r.price_cents).join("\n"));
