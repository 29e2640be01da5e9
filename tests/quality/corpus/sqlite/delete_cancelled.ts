await mcp__sqlite__write_query({ query: "DELETE FROM orders WHERE status = 'cancelled'" });
const left = await mcp__sqlite__read_query({ query: "SELECT COUNT(*) AS count FROM orders" });
console.log(JSON.parse(left.replaceAll("'", '"'))[0].count);
