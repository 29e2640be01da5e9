const rows = JSON.parse((await mcp__sqlite__read_query({ query: "SELECT substr(since, 1, 4) AS year, COUNT(*) AS n FROM customers GROUP BY year ORDER BY year" })).replaceAll("'", '"'));
rows.forEach((row: { year: string; n: number }) => console.log(`${row.year}: ${row.n}`));
