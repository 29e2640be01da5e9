const text = await mcp__sqlite__read_query({
  query: "SELECT p.category AS category, SUM(o.quantity) AS units FROM orders o JOIN products p ON p.id = o.product_id GROUP BY p.category ORDER BY units DESC",
});
const { category } = JSON.parse(text.replaceAll("'", '"'))[0];
await mcp__sqlite__append_insight({ insight: `Most units: ${category}` });
console.log(category);
