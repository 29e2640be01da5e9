import json
from datetime import date
from decimal import Decimal

ticket = await mcp__fixture__get_ticket("T-102")

class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, date):
            return o.isoformat()
        if isinstance(o, set):
            return sorted(o)
        if isinstance(o, Decimal):
            return float(o)
        return super().default(o)

doc = {"ticket": ticket["id"], "day": date(2025, 1, 2), "tags": {"b", "a"}, "price": Decimal("1.50"), "none": None}
print(json.dumps(doc, cls=Encoder))
print(json.dumps(ticket["comments"], indent=1, ensure_ascii=False))
print(json.dumps({"é": "🎉", "n": [1.0, 1e100, -0.0, 10**20]}), json.dumps("</script>\t\x01"))
print(json.dumps({1: "int key", None: 0, True: 1, 2.5: "x"}), json.dumps([], indent=2), json.dumps({"b": 1, "a": 2}, sort_keys=True))

try:
    json.dumps({"x": object()})
except TypeError as e:
    print("TypeError:", str(e)[:25])

for text in ['{"a": 1}', "[1, 2", '{"a": nope}', '"ok"', "1.50", ""]:
    try:
        print("parsed", json.loads(text, parse_float=Decimal))
    except json.JSONDecodeError as e:
        print("bad JSON at", e.pos, "line", e.lineno)

def walk(node, path="$"):
    if isinstance(node, dict):
        for k, v in node.items():
            yield from walk(v, f"{path}.{k}")
    elif isinstance(node, list):
        for i, v in enumerate(node):
            yield from walk(v, f"{path}[{i}]")
    else:
        yield path, node

for path, leaf in walk(await mcp__fixture__read_text("/config/settings.json")):
    print(path, "=", json.dumps(leaf))
print(json.loads('{"x": {"y": 1}}', object_hook=lambda d: tuple(d.items())), json.loads('"\\u00e9\\ud83c\\udf89"'))
