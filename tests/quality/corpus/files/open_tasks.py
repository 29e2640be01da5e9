import re
listing = (await mcp__files__list_directory(path="FOLDER/notes"))["content"]
names = sorted(re.findall(r"\[FILE\] (.+)", listing))
for name in names:
    content = (await mcp__files__read_text_file(path=f"FOLDER/notes/{name}"))["content"]
    for line in content.splitlines():
        if line.startswith("- [ ] "):
            print(line[6:])
