const rows: { name: string }[] = JSON.parse((await mcp__sqlite__read_query({ query: "SELECT name FROM products" })).replaceAll("'", '"'));
console.log(rows.map((r) => r.name).sort((a, b) => b.length - a.length || (a < b ? -1 : 1))[0]);
