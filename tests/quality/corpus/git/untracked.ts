const status = await mcp__git__git_status({ repo_path: "REPOSITORY" });
const section = status.split("Untracked files:")[1] ?? "";
console.log([...section.matchAll(/^\t(.+)$/gm)].map((m) => m[1]).sort().join("\n"));
