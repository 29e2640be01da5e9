import asyncio
days = [f"2026-03-{d}" for d in range(16, 21)]
menus = await asyncio.gather(*(mcp__office__get_menu(day=day) for day in days))
counts = [len(menu["dishes"]) for menu in menus]
print(days[counts.index(max(counts))])
