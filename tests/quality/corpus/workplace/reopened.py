async def tickets():
    cursor = None
    while True:
        page = await mcp__helpdesk__list_tickets(cursor=cursor)
        for ticket in page["tickets"]:
            yield ticket
        cursor = page.get("next_cursor")
        if not cursor:
            return

print(sum([1 async for ticket in tickets() if ticket["reopened"]]))
