log = await mcp__git__git_log(repo_path="REPOSITORY", max_count=100)
for entry in log.split("Commit: ")[1:]:
    if "Message: Add levers" in entry:
        print(entry.split()[0].strip("'\""))
