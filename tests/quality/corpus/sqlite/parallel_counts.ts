const tables = ["customers", "orders", "products"];
const counts = await Promise.all(tables.map(async (table) => {
  const text = await mcp__sqlite__read_query({ query: `SELECT COUNT(*) AS n FROM ${table}` });
  return Number(/\d+/.exec(text)![0]);
}));
tables.forEach((table, i) => console.log(table, counts[i]));
