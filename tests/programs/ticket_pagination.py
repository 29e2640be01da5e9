# Walk through all pages of a search
from collections import Counter

async def all_tickets(query, **filters):
    cursor = None
    pages = 0
    while True:
        args = {"query": query, "limit": 7, **filters}
        if cursor is not None:
            args["cursor"] = cursor
        page = await mcp__fixture__search_tickets(**args)
        pages += 1
        for ticket in page["tickets"]:
            yield ticket
        cursor = page["next_cursor"]
        if not cursor:
            print(f"[{query or '*'}] {page['total']} tickets on {pages} pages")
            return

open_tickets = [t async for t in all_tickets("", status="open")]
print(Counter(t["priority"] for t in open_tickets).most_common(1)[0][0])
for tag, n in sorted(Counter(t["tag"] for t in open_tickets).items()):
    print(f"{tag:>12}: {n}")

async for t in all_tickets("csv"):
    print(t["id"], t["title"])
