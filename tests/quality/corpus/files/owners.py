import asyncio, re
from collections import Counter

found = (await mcp__files__search_files(path="FOLDER/notes", pattern="*.md"))["content"].splitlines()
texts = await asyncio.gather(*(mcp__files__read_text_file(path=p) for p in found))
owners = Counter(re.search(r"Owner: (\w+)", t["content"]).group(1) for t in texts)
for owner in sorted(owners):
    print(owner, owners[owner])
