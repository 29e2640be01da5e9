await mcp__git__git_create_branch(repo_path="REPOSITORY", branch_name="release", base_branch="main")
branches = await mcp__git__git_branch(repo_path="REPOSITORY", branch_type="local")
print("\n".join(sorted(b.replace("*", "").strip() for b in branches.strip().splitlines())))
