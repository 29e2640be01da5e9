import json
from collections import defaultdict
text = (await mcp__files__read_text_file(path="FOLDER/customers.jsonl"))["content"]
groups = defaultdict(list)
for line in text.splitlines():
    groups[json.loads(line)["country"]].append(line)
await mcp__files__create_directory(path="FOLDER/by-country")
for country in sorted(groups):
    await mcp__files__write_file(path=f"FOLDER/by-country/{country}.jsonl", content="\n".join(groups[country]) + "\n")
    print(country, len(groups[country]))
