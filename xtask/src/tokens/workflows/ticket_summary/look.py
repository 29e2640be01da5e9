page = await mcp__helpdesk__list_tickets(created_from="2026-03-01", created_to="2026-03-31", limit=1)
print(page)
