from collections import defaultdict
text = (await mcp__files__read_text_file(path="FOLDER/logs/access.log"))["content"]
times = defaultdict(list)
for line in text.splitlines():
    if not line.strip():
        continue
    _, _, _, path, _, ms = line.split()
    times[path].append(int(ms.removesuffix("ms")))
print(max(times, key=lambda p: sum(times[p]) / len(times[p])))
