let count = 0;
let cursor: string | null = null;
do {
  const page: any = await mcp__orders_db__select_rows({ table: "orders", limit: 100, ...(cursor ? { cursor } : {}) });
  count += page.rows.length;
  cursor = page.next_cursor;
} while (cursor);
console.log(count);
