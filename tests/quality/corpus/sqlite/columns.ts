const text = await mcp__sqlite__describe_table({ table_name: "orders" });
const columns = JSON.parse(text.replaceAll("'", '"').replaceAll("None", "null"));
for (const c of columns) if (c.type === "INTEGER") console.log(c.name);
