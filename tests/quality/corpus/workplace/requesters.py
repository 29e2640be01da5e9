emails = set()
cursor = None
while True:
    page = await mcp__helpdesk__list_tickets(limit=25, cursor=cursor)
    emails |= {t["requester"]["email"] for t in page["tickets"]}
    cursor = page.get("next_cursor")
    if not cursor:
        break
print(len(emails))
