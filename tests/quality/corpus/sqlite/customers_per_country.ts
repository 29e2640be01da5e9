const text = await mcp__sqlite__read_query({ query: "SELECT country, COUNT(*) AS n FROM customers GROUP BY country ORDER BY country" });
const rows = JSON.parse(text.replaceAll("'", '"'));
for (const row of rows) console.log(`${row.country}: ${row.n}`);
