import json
from collections import Counter
content = (await mcp__files__read_text_file(path="FOLDER/customers.jsonl"))["content"]
names = Counter(json.loads(line)["name"] for line in content.splitlines() if line)
print(len(names))
for name in sorted(name for name, n in names.items() if n > 1):
    print(name)
