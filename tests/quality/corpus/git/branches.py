text = await mcp__git__git_branch(repo_path="REPOSITORY", branch_type="local")
print(",".join(sorted(line.strip("* ").strip() for line in text.splitlines() if line.strip())))
