print((await mcp__git__git_show(repo_path="REPOSITORY", revision="HEAD~3:compiler.txt")).strip())
