status = await mcp__git__git_status(repo_path="REPOSITORY")
section = status.split("Untracked files:")[1]
files = [line.strip() for line in section.splitlines() if line.startswith("\t")]
print("\n".join(sorted(files)))
