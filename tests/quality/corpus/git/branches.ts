const text = await mcp__git__git_branch({ repo_path: "REPOSITORY", branch_type: "local" });
console.log(text.split("\n").map((l: string) => l.replace("*", "").trim()).filter(Boolean).sort().join(","));
