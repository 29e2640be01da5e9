count, cursor = 0, None
while True:
    page = await mcp__warehouse_db__select_rows(table="shipments", limit=100, cursor=cursor)
    count += len(page["rows"])
    cursor = page["next_cursor"]
    if cursor is None:
        break
print(count)
