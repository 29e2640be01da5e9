import re
diff = await mcp__git__git_diff_unstaged(repo_path="REPOSITORY")
print("\n".join(sorted(set(re.findall(r"^diff --git a/(\S+) b/", diff, re.M)))))
