async function* pages(size) {
  const all = await mcp__fixture__rows({ count: 95 });
  for (let from = 0; from < all.length; from += size) yield { page: from / size + 1, rows: all.slice(from, from + size) };
}
const seen = [];
for await (const { page, rows } of pages(20)) {
  seen.push({ page, count: rows.length, first: rows[0].id, total: Number(rows.reduce((sum, row) => sum + row.price, 0).toFixed(2)) });
  if (page === 4) break;
}
console.log(seen);
const chunk = (list, size) => list.length ? [list.slice(0, size), ...chunk(list.slice(size), size)] : [];
console.log(chunk([1, 2, 3, 4, 5, 6, 7], 3));
const results = [];
for (const batch of chunk(Array.from({ length: 7 }, (_, i) => i), 3)) results.push(...(await Promise.all(batch.map((n) => mcp__fixture__add({ a: n, b: n })))));
console.log(results, results.reduce((a, b) => a + b));
