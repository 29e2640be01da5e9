const repo_path = "REPOSITORY";
await mcp__git__git_add({ repo_path, files: ["engine.txt"] });
const diff = await mcp__git__git_diff_staged({ repo_path });
console.log(diff.split("\n").filter((l: string) => l.startsWith("+") && !l.startsWith("+++")).map((l: string) => l.slice(1)).join("\n"));
await mcp__git__git_reset({ repo_path });
