# Join orders with inventory to see which SKUs need reordering
import asyncio
import csv
from io import StringIO

inventory_csv, orders_csv = await asyncio.gather(
    mcp__fixture__read_text("/data/inventory.csv"),
    mcp__fixture__read_text("/data/orders.csv"),
)

stock = {}
for row in csv.DictReader(StringIO(inventory_csv)):
    item = stock.setdefault(row["sku"], {"name": row["name"], "on_hand": 0, "reorder": 0, "cost": float(row["unit_cost"])})
    item["on_hand"] += int(row["on_hand"])
    item["reorder"] += int(row["reorder_level"])

demand = {}
for row in csv.DictReader(StringIO(orders_csv)):
    if row["status"] == "open":
        demand[row["sku"]] = demand.get(row["sku"], 0) + int(row["quantity"])

for sku in sorted(stock):
    item = stock[sku]
    left = item["on_hand"] - demand.get(sku, 0)
    if left < item["reorder"]:
        missing = item["reorder"] - left
        print(f"{sku} {item['name']!r:16} left={left:<4} order {missing:>3} for {missing * item['cost']:>9.2f}")

unknown = demand.keys() - stock.keys()
print("unknown skus:", sorted(unknown) or "none")
