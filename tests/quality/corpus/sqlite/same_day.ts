const text = await mcp__sqlite__read_query({ query: "SELECT COUNT(*) AS days FROM (SELECT day FROM orders GROUP BY day HAVING COUNT(*) >= 3)" });
console.log(JSON.parse(text.replaceAll("'", '"'))[0].days);
