const { columns, row_count } = await mcp__orders_db__describe_table({ table: "orders" });
console.log(columns.map((c) => c.name).join(","), row_count);
