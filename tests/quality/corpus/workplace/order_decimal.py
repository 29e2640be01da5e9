from decimal import Decimal, ROUND_HALF_UP
order = await mcp__shop__get_order(order_number="SO-10482")
total = sum(Decimal(str(i["price"])) * i["quantity"] for i in order["items"])
print((total * Decimal("1.19")).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
