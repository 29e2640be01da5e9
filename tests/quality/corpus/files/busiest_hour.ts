const lines = (await mcp__files__read_text_file({ path: "FOLDER/logs/access.log" })).content.trim().split("\n");
const hours = new Array(24).fill(0);
for (const line of lines) hours[new Date(line.split(" ")[0]).getUTCHours()]++;
console.log(String(hours.indexOf(Math.max(...hours))).padStart(2, "0"));
