from collections import defaultdict
from statistics import median_low

tickets, cursor = [], None
while True:
    page = await mcp__helpdesk__list_tickets(
        created_from="2026-03-01", created_to="2026-03-31", cursor=cursor
    )
    tickets += page["tickets"]
    cursor = page["next_cursor"]
    if cursor is None:
        break

areas = defaultdict(list)
for ticket in tickets:
    areas[ticket["area"]].append(ticket)
for area, found in sorted(areas.items(), key=lambda item: (-len(item[1]), item[0])):
    minutes = [ticket["first_reply_minutes"] for ticket in found]
    unsolved = sum(ticket["status"] != "solved" for ticket in found)
    late = sum(m > 24 * 60 for m in minutes)
    print(f"{area}: {len(found)} tickets, {unsolved} unsolved, median {median_low(minutes)} min, {late} late")
reopened = sum(ticket["reopened"] for ticket in tickets)
mentions = sum("until the update last week" in ticket["body"] for ticket in tickets)
print(f"reopened: {reopened}, mention the update: {mentions}")
