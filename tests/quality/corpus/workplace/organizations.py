from collections import Counter
counts = Counter()
page = await mcp__helpdesk__list_tickets(limit=25)
while True:
    counts.update(t["organization"] for t in page["tickets"])
    if not page.get("next_cursor"):
        break
    page = await mcp__helpdesk__list_tickets(limit=25, cursor=page["next_cursor"])
for name, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:5]:
    print(name, n)
