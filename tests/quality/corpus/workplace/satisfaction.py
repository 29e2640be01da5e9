from statistics import fmean
scores, cursor = [], None
while True:
    page = await mcp__helpdesk__list_tickets(cursor=cursor)
    scores.extend(t["satisfaction"] for t in page["tickets"] if t["satisfaction"] is not None)
    cursor = page.get("next_cursor")
    if cursor is None:
        break
print(f"{fmean(scores):.2f}")
