const { status, carrier, tracking } = await mcp__shop__get_order({ order_number: "SO-10482" });
console.log(status, carrier, tracking);
