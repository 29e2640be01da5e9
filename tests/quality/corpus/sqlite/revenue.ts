const result = await mcp__sqlite__read_query({
  query: `SELECT SUM(o.quantity * p.price_cents) AS cents FROM orders o JOIN products p ON p.id = o.product_id WHERE o.status <> 'cancelled'`,
});
const cents = Number(result.match(/\d+/)![0]);
console.log((cents / 100).toFixed(2));
