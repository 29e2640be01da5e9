const parse = (text: string) => JSON.parse(text.replaceAll("'", '"'));
const rows = parse(await mcp__sqlite__read_query({ query: "SELECT name, stock FROM products WHERE stock < 10" }));
rows.sort((a: any, b: any) => a.stock - b.stock || (a.name < b.name ? -1 : 1));
rows.forEach((row: any) => console.log(`${row.name} (${row.stock})`));
