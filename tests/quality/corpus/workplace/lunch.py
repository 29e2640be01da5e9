menu = await mcp__office__get_menu(day="2026-03-18")
dish = min(menu["dishes"], key=lambda d: d["cents"])
print(f"{dish['name']}, {dish['cents'] / 100:.2f} euros")
