import difflib
from pprint import pprint, pformat

before = await mcp__fixture__read_text(path="/docs/poem.txt")
after = before.replace("village", "city").replace("And miles to go before I sleep.", "The end.")

for line in difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=1):
    print(line)

matcher = difflib.SequenceMatcher(None, "private thread", "private volatile thread")
print(round(matcher.ratio(), 4), [op for op in matcher.get_opcodes()])
print(difflib.get_close_matches("aple", ["ape", "apple", "peach", "maple"]))

tickets = (await mcp__fixture__search_tickets("feature", limit=3))["tickets"]
pprint(tickets[:2], width=70, sort_dicts=True)
pprint({"matrix": [[1, 2, 3]] * 3, "name": "x" * 30, "nested": {"a": {"b": {"c": 1}}}}, width=40)
print(pformat(list(range(30)), width=60, compact=True))
pprint({"deep": {"er": {"est": 1}}}, depth=2)

titles = [t["title"] for t in tickets]
common = titles[0][: next(i for i, cs in enumerate(zip(*titles)) if len(set(cs)) > 1)]
print(repr(common))
