import re
from collections import Counter, defaultdict

log = await mcp__fixture__read_text(path="/logs/app.log")

LINE = re.compile(
    r"^(?P<date>\d{4}-\d{2}-\d{2}) (?P<time>[\d:]+),(?P<ms>\d{3}) "
    r"(?P<level>[A-Z]+)\s+\[(?P<module>\w+)\] (?P<message>.*)$",
    re.MULTILINE,
)

levels = Counter()
errors = defaultdict(list)
durations = []
for m in LINE.finditer(log):
    levels[m["level"]] += 1
    if m["level"] == "ERROR":
        kind, _, detail = m["message"].partition(": ")
        errors[kind].append((m["time"], m["module"], detail))
    elif d := re.search(r"(\d+)ms$", m["message"]):
        durations.append(int(d.group(1)))

print(dict(sorted(levels.items())))
for kind in sorted(errors):
    print(f"{kind} x{len(errors[kind])}")
    for time, module, detail in errors[kind][:2]:
        print(f"    {time} {module:<8} {detail}")
print(f"slowest={max(durations)}ms fastest={min(durations)}ms")

masked = re.sub(r"id=(\d{2})\d+", r"id=\1***", log.splitlines()[0])
print(masked)
print(re.split(r"[\s,\[\]]+", log.splitlines()[0], maxsplit=4))
