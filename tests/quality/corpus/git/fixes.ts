const log: string = await mcp__git__git_log({ repo_path: "REPOSITORY", max_count: 50 });
const messages = log.split("\n").filter((l) => l.startsWith("Message: ")).map((l) => l.slice("Message: ".length));
console.log(messages.reverse().filter((m) => m.startsWith("Fix")).join("\n"));
