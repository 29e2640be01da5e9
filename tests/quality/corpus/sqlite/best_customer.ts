const text = await mcp__sqlite__read_query({
  query: `SELECT c.id, c.name, COUNT(*) AS shipped FROM orders o JOIN customers c ON c.id = o.customer_id
          WHERE o.status = 'shipped' GROUP BY c.id ORDER BY shipped DESC, c.id LIMIT 1`,
});
const [best] = JSON.parse(text.replace(/'/g, '"')) as { name: string; shipped: number }[];
console.log(`${best.name}\t${best.shipped}`);
