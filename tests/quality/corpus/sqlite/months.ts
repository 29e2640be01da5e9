const text = await mcp__sqlite__read_query({ query: "SELECT substr(day, 1, 7) AS month, COUNT(*) AS n FROM orders GROUP BY month ORDER BY month" });
for (const { month, n } of JSON.parse(text.replaceAll("'", '"'))) console.log(month, n);
