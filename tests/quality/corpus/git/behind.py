import re
await mcp__git__git_checkout(repo_path="REPOSITORY", branch_name="main")
diff = await mcp__git__git_diff(repo_path="REPOSITORY", target="draft")
files = set(re.findall(r"^\+\+\+ b/(.+)$", diff, re.M)) | set(re.findall(r"^--- a/(.+)$", diff, re.M))
print("\n".join(sorted(files)))
