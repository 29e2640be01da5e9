# Keyword, positional and dict arguments all reach the tool in the same way
print(await mcp__fixture__positional(first="a", second=2, third=True))
print(await mcp__fixture__positional("a", 2, True))
print(await mcp__fixture__positional({"first": "a", "second": 2, "third": True}))
mixed = await mcp__fixture__positional("a", third=False, second=-1)
print(sorted(mixed.items()))

params = {"amount": 250, "from": "USD", "to": "JPY"}
r = await mcp__fixture__convert(**params)
print(f"{r['amount']:.2f} {r['from']} = {r['converted']:,.2f} {r['to']}")
r = await mcp__fixture__convert(99.5, "GBP", "CHF")
print(r["converted"], r["rate"])

value = {"nested": {"list": [1, 2.5, None, True, "é ✓ 🎉"], "empty": {}}, "big": 10**30, "neg": -0.001}
echoed = await mcp__fixture__echo(value=value)
print(echoed == value, echoed["big"] + 1, type(echoed["nested"]["list"][1]).__name__)
print(await mcp__fixture__echo(value="plain text"), await mcp__fixture__echo(value=None))
print(await mcp__fixture__echo(value='quotes " and \\ and \n newline') == 'quotes " and \\ and \n newline')
print(await mcp__fixture__echo(value=[]), await mcp__fixture__echo(value=False), await mcp__fixture__echo(value=""))
print(await mcp__fixture__raw_arguments(b=1, a=[True]) == {"a": [True], "b": 1}, await mcp__fixture__raw_arguments())
print(await mcp__fixture__weird_name_tool(), await mcp__fixture__class(), await mcp__fixture__print())
