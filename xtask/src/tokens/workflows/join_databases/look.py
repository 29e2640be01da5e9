for describe, table in [(mcp__orders_db__describe_table, "orders"), (mcp__warehouse_db__describe_table, "shipments")]:
    print(table, [(c["name"], c["type"]) for c in (await describe(table=table))["columns"]])
print((await mcp__orders_db__select_rows(table="orders", limit=1))["rows"])
