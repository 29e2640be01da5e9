import ast
names = [row["name"] for row in ast.literal_eval(await mcp__sqlite__read_query(query="SELECT name FROM products"))]
print(sorted(names, key=lambda name: (-len(name), name))[0])
