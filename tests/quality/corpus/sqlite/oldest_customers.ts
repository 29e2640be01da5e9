const text = await mcp__sqlite__read_query({ query: "SELECT name FROM customers ORDER BY since LIMIT 5" });
for (const { name } of JSON.parse(text.replaceAll("'", '"'))) console.log(name);
