import ast
columns = ast.literal_eval(await mcp__sqlite__describe_table(table_name="orders"))
for column in columns:
    if column["type"] == "INTEGER":
        print(column["name"])
