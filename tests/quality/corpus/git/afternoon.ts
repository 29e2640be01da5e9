const log = await mcp__git__git_log({ repo_path: "REPOSITORY", max_count: 100 });
const entries = log.split("Commit: ").slice(1).map((entry: string) => ({
  date: new Date(entry.match(/^Date: (.*)$/m)![1]),
  message: entry.match(/^Message: (.*)$/m)![1],
}));
entries.filter((e: any) => e.date.getUTCHours() >= 15).sort((a: any, b: any) => a.date - b.date).forEach((e: any) => console.log(e.message));
