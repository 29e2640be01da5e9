const text = await mcp__sqlite__read_query({
  query: `SELECT c.country AS country, AVG(o.status = 'cancelled') AS rate FROM orders o
          JOIN customers c ON c.id = o.customer_id GROUP BY c.country ORDER BY rate DESC LIMIT 1`,
});
console.log(JSON.parse(text.replaceAll("'", '"'))[0].country);
