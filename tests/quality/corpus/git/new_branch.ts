await mcp__git__git_create_branch({ repo_path: "REPOSITORY", branch_name: "release", base_branch: "main" });
const branches: string = await mcp__git__git_branch({ repo_path: "REPOSITORY", branch_type: "local" });
console.log(branches.trim().split("\n").map((b) => b.replace("*", "").trim()).sort().join("\n"));
