const log = (await mcp__files__read_text_file({ path: "FOLDER/logs/access.log" })).content;
const statuses = log.trim().split("\n").map((line: string) => Number(line.split(" ")[4]));
const errors = statuses.filter((s: number) => s >= 500).length;
console.log(((errors / statuses.length) * 100).toFixed(1));
