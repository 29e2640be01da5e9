import re
from datetime import datetime
from itertools import groupby
from statistics import mean, median, pstdev

raw = await mcp__fixture__read_text("/logs/web.log")
pattern = re.compile(r'(\S+) \S+ \S+ \[([^\]]+)\] "(\w+) (\S+) [^"]+" (\d{3}) (\d+)')

hits = []
for ip, when, method, path, status, size in pattern.findall(raw):
    hits.append({
        "ip": ip,
        "when": datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z"),
        "method": method,
        "path": path.split("?")[0],
        "status": int(status),
        "size": int(size),
    })

print(f"{len(hits)} hits, {len({h['ip'] for h in hits})} clients")

hits.sort(key=lambda h: h["status"] // 100)
for family, group in groupby(hits, key=lambda h: h["status"] // 100):
    sizes = [h["size"] for h in group]
    print(f"{family}xx: n={len(sizes):2d} mean={mean(sizes):8.2f} median={median(sizes):7.1f} sd={pstdev(sizes):8.2f}")

first = min(h["when"] for h in hits)
last = max(h["when"] for h in hits)
print("from", first.isoformat(), "to", last.strftime("%H:%M:%S"), "=", last - first)

worst = max(hits, key=lambda h: (h["status"], h["size"]))
print(worst["method"], worst["path"], worst["status"])
