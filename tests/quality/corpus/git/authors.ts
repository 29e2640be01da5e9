const log = await mcp__git__git_log({ repo_path: "REPOSITORY", max_count: 100 });
const counts: Record<string, number> = {};
for (const [, author] of log.matchAll(/^Author: (.+)$/gm)) counts[author] = (counts[author] ?? 0) + 1;
Object.entries(counts).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).forEach(([a, n]) => console.log(a, n));
