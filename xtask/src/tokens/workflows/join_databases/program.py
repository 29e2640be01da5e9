from collections import Counter

async def rows(select, **query):
    found, cursor = [], None
    while True:
        page = await select(**query, cursor=cursor)
        found += page["rows"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found

paid = await rows(
    mcp__orders_db__select_rows, table="orders", where={"status": "paid"},
    columns=["order_id", "customer", "total_cents", "paid_at"],
)
shipped = {
    row["order_ref"]
    for row in await rows(mcp__warehouse_db__select_rows, table="shipments", columns=["order_ref"])
}
missing = [row for row in paid if row["order_id"] not in shipped]
money = Counter()
for row in missing:
    money[row["customer"]] += row["total_cents"]
oldest = min(missing, key=lambda row: (row["paid_at"], row["order_id"]))
print(f"{len(missing)} orders, {money.total() / 100:.2f} EUR, oldest {oldest['order_id']}")
for customer, cents in money.most_common(3):
    print(f"{customer}: {cents / 100:.2f} EUR")
