from datetime import datetime
from collections import Counter
content = (await mcp__files__read_text_file(path="FOLDER/logs/access.log"))["content"]
hours = Counter()
for line in content.strip().split("\n"):
    stamp = datetime.fromisoformat(line.split(" ")[0].replace("Z", "+00:00"))
    hours[stamp.hour] += 1
hour = min(hours, key=lambda h: (-hours[h], h))
print(f"{hour:02d}")
