const text = await mcp__git__git_show({ repo_path: "REPOSITORY", revision: "HEAD~3:compiler.txt" });
console.log(text.trim());
