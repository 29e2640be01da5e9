const { content } = await mcp__files__read_text_file({ path: "FOLDER/logs/access.log", tail: 3 });
for (const line of content.trim().split("\n")) console.log(line.split(" ")[3]);
