const text = await mcp__sqlite__read_query({ query: "SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders) ORDER BY id" });
const ids = (JSON.parse(text.replaceAll("'", '"')) as { id: number }[]).map((row) => row.id);
console.log(ids.join(" "));
