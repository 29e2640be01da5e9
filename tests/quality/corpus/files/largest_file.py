listing = (await mcp__files__list_directory_with_sizes(path="FOLDER", sortBy="size"))["content"]
for line in listing.splitlines():
    if line.startswith("[FILE]"):
        print(line.split()[1])
        break
