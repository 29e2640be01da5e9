import ast
tables = ast.literal_eval(await mcp__sqlite__list_tables())
print(",".join(sorted(t["name"] for t in tables)))
