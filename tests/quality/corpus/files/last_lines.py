tail = await mcp__files__read_text_file(path="FOLDER/logs/access.log", tail=3)
for line in tail["content"].strip().splitlines():
    print(line.split()[3])
