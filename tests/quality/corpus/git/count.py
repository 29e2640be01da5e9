log = await mcp__git__git_log(repo_path="REPOSITORY", max_count=1000)
print(log.count("Commit: "))
