const log = await mcp__git__git_log({ repo_path: "REPOSITORY", max_count: 1000 });
console.log(log.split("Commit: ").length - 1);
