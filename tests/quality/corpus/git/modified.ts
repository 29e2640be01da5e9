const status = await mcp__git__git_status({ repo_path: "REPOSITORY" });
const files = [...status.matchAll(/modified:\s+(\S+)/g)].map((m) => m[1]);
console.log(files.sort().join("\n"));
