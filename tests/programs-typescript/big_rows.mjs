const rows = await mcp__fixture__rows({ count: 5000 });
const total = rows.reduce((sum, row) => sum + row.quantity * row.price, 0);
console.log(rows.length, total.toFixed(2), rows[0], rows.at(-1).id);
const byProduct = {};
for (const { product, quantity } of rows) byProduct[product] = (byProduct[product] ?? 0) + quantity;
console.log(byProduct);
const top = Object.entries(byProduct).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([name, n], i) => `${i + 1}. ${name}: ${n.toLocaleString()}`);
console.log(top.join("\n"));
console.log(rows.slice(0, 3).map(({ id, region }) => ({ id, region })));
