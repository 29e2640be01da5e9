quote = await mcp__finance__get_quote(ticker="KSTR")
print(f"{quote['price']:.2f} {quote['pe_ratio']:.2f}")
