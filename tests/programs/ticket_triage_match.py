import asyncio

def classify(ticket):
    match ticket:
        case {"status": "closed"}:
            return "done"
        case {"priority": "urgent", "assignee": None}:
            return "PAGE SOMEONE"
        case {"priority": "urgent" | "high", "assignee": str(who)}:
            return f"escalate to {who}"
        case {"tag": "feature", **rest} if rest["priority"] != "high":
            return "backlog"
        case {"comments": [{"author": author, "text": text}, *others]}:
            return f"{author}: {text[:20]}... (+{len(others)})"
        case {"comments": []}:
            return "no answer yet"
        case _:
            return "?"

ids = [f"T-{n}" for n in range(101, 135)]
tickets = await asyncio.gather(*(mcp__fixture__get_ticket(id=i) for i in ids))

for t in tickets:
    print(f"{t['id']} {classify(t)}")

def shape(value):
    match value:
        case []:
            return "empty list"
        case [x]:
            return f"one: {x}"
        case [first, *_, last]:
            return f"{first}..{last}"
        case int() | float() as number:
            return f"number {number}"
        case str(s) if s.isdigit():
            return f"digits {s}"
        case None:
            return "nothing"
    return "other"

print([shape(v) for v in ([], [1], [1, 2, 3], 2.5, "42", "x", None)])
