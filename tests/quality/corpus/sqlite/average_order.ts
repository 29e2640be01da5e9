const text = await mcp__sqlite__read_query({
  query: "SELECT o.status AS status, AVG(o.quantity * p.price_cents) AS cents FROM orders o JOIN products p ON p.id = o.product_id GROUP BY o.status ORDER BY o.status",
});
for (const row of JSON.parse(text.replaceAll("'", '"'))) {
  console.log(`${row.status} ${(row.cents / 100).toFixed(2)}`);
}
