from collections import Counter
log = await mcp__files__read_text_file(path="FOLDER/logs/access.log")
addresses = Counter(line.split()[1] for line in log["content"].splitlines())
print(len(addresses), addresses.most_common(1)[0][0])
