table = await mcp__orders_db__describe_table(table="orders")
print(",".join(c["name"] for c in table["columns"]), table["row_count"])
