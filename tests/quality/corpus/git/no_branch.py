try:
    await mcp__git__git_checkout(repo_path="REPOSITORY", branch_name="legacy")
    print("switched")
except ToolError:
    print("no such branch")
