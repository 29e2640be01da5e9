table = await mcp__warehouse_db__describe_table(table="shipments")
print(",".join(c["name"] for c in table["columns"]), table["row_count"])
