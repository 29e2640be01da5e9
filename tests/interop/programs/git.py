# servers: git
# A repository: its history, a new branch, a commit.
repository = {"repo_path": "REPOSITORY"}

print(*sorted(name for name in dir(tools) if name.startswith("mcp__git__")), sep="\n")
print(await mcp__git__git_status(**repository))
print(await mcp__git__git_log(**repository, max_count=2))
print(await mcp__git__git_show(**repository, revision="HEAD~1"))
print(await mcp__git__git_create_branch(**repository, branch_name="topic"))
print(await mcp__git__git_checkout(**repository, branch_name="topic"))
print(await mcp__git__git_branch(**repository, branch_type="local"))
print(await mcp__git__git_diff(**repository, target="main~2"))
try:
    await mcp__git__git_checkout(**repository, branch_name="absent")
except ToolError as error:
    print(str(error).splitlines()[0])
