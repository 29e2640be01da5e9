try {
  const rows = JSON.parse(await mcp__sqlite__read_query({ query: "SELECT COUNT(*) AS n FROM invoices" }));
  console.log(rows[0].n);
} catch (error) {
  console.log("no such table");
}
