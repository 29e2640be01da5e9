statements = (await mcp__finance__get_income_statements(ticker="NRTH", quarters=8))["statements"]
best = max(statements, key=lambda s: s["revenue"])
print(f"{best['fiscal_year']}-Q{best['fiscal_quarter']}")
