const text: string = (await mcp__files__read_text_file({ path: "FOLDER/logs/access.log" })).content;
const values = [...text.matchAll(/(\d+)ms$/gm)].map((m) => Number(m[1])).sort((a, b) => a - b);
console.log(values[Math.ceil(values.length * 0.95) - 1]);
