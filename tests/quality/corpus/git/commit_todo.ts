await mcp__git__git_add({ repo_path: "REPOSITORY", files: ["todo.txt"] });
await mcp__git__git_commit({ repo_path: "REPOSITORY", message: "List what is left" });
const log = await mcp__git__git_log({ repo_path: "REPOSITORY", max_count: 1 });
console.log(log.match(/Message: (.*)/)![1]);
