const tables: { name: string }[] = JSON.parse((await mcp__sqlite__list_tables()).replaceAll("'", '"'));
console.log(tables.map((t) => t.name).sort().join(","));
