order = await mcp__shop__get_order(order_number="SO-10482")
print(f"{order['status']} with {order['carrier']}, expected on {order['expected_on']}")
