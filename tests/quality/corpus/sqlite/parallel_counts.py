import ast, asyncio

async def count(table):
    rows = ast.literal_eval(await mcp__sqlite__read_query(query=f"SELECT COUNT(*) AS n FROM {table}"))
    return rows[0]["n"]

tables = ["customers", "orders", "products"]
counts = await asyncio.gather(*(count(table) for table in tables))
for table, n in zip(tables, counts):
    print(table, n)
