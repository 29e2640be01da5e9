import re
from collections import Counter
log = await mcp__git__git_log(repo_path="REPOSITORY", max_count=100)
authors = Counter(re.findall(r"^Author: (.+)$", log, flags=re.M))
for author, n in sorted(authors.items(), key=lambda x: (-x[1], x[0])):
    print(author, n)
