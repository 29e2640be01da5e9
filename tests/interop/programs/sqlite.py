# servers: sqlite
# A database through a server on the older SDK; rows come as the text of a Python list.
import ast

print(*sorted(name for name in dir(tools) if name.startswith("mcp__sqlite__")), sep="\n")

async def query(sql):
    return ast.literal_eval(await mcp__sqlite__read_query(query=sql))

print(await mcp__sqlite__create_table(query="CREATE TABLE sales (region TEXT, amount REAL, note TEXT)"))
rows = ", ".join(f"('{'EU' if n % 3 else 'US'}', {n}.5, 'n°{n}')" for n in range(200))
print(await mcp__sqlite__write_query(query=f"INSERT INTO sales VALUES {rows}"))
print(await query("SELECT region, count(*) AS n, sum(amount) AS total FROM sales GROUP BY region ORDER BY region"))
print(len(await query("SELECT * FROM sales")), (await query("SELECT * FROM sales"))[199])
print(ast.literal_eval(await mcp__sqlite__list_tables()))
print([column["name"] for column in ast.literal_eval(await mcp__sqlite__describe_table(table_name="sales"))])
# This server answers its own errors as ordinary text.
print(await mcp__sqlite__read_query(query="DELETE FROM sales"))
print(await mcp__sqlite__read_query(query="SELECT * FROM absent"))
