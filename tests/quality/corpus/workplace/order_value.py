order = await mcp__shop__get_order(order_number="SO-10482")
print(f"{sum(item['quantity'] * item['price'] for item in order['items']):.2f}")
