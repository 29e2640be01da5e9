order = await mcp__shop__get_order("SO-10482")
print(order["status"], order["carrier"], order["tracking"])
