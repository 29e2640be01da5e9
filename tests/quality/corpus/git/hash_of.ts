const log = await mcp__git__git_log({ repo_path: "REPOSITORY", max_count: 100 });
const entry = log.split("Commit: ").find((e: string) => e.includes("Message: Add levers"))!;
console.log(entry.split("\n")[0].trim());
