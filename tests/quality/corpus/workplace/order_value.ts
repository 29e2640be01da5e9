const order = await mcp__shop__get_order({ order_number: "SO-10482" });
console.log(order.items.reduce((sum, item) => sum + item.quantity * item.price, 0).toFixed(2));
