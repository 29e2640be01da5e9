import ast
try:
    rows = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT COUNT(*) AS n FROM invoices"))
    print(rows[0]["n"])
except ToolError as error:
    print("no such table")
