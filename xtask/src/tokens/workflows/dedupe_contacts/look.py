page = await mcp__contacts__list_contacts(limit=2)
print(page)
