result = await mcp__finance__get_income_statements(ticker="NRTH", quarters=4)
statements = result["statements"]
margin = sum(s["net_income"] for s in statements) / sum(s["revenue"] for s in statements)
print(f"{margin:.1%}".rstrip("%"))
