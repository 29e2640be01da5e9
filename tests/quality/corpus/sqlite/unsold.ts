const rows = JSON.parse((await mcp__sqlite__read_query({
  query: "SELECT name FROM products WHERE id NOT IN (SELECT product_id FROM orders WHERE day >= '2026-06-01') ORDER BY name",
})).replaceAll("'", '"'));
for (const row of rows) console.log(row.name);
