show = await mcp__git__git_show(repo_path="REPOSITORY", revision="HEAD")
for line in show.splitlines():
    if line.startswith("+") and not line.startswith("+++"):
        print(line[1:])
