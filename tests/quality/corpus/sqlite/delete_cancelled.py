import ast
await mcp__sqlite__write_query(query="DELETE FROM orders WHERE status = 'cancelled'")
left = ast.literal_eval(await mcp__sqlite__read_query(query="SELECT COUNT(*) AS count FROM orders"))
print(left[0]["count"])
