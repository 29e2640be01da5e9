await mcp__git__git_add(repo_path="REPOSITORY", files=["engine.txt"])
diff = await mcp__git__git_diff_staged(repo_path="REPOSITORY")
print("\n".join(line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")))
await mcp__git__git_reset(repo_path="REPOSITORY")
