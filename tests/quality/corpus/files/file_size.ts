const { content } = await mcp__files__get_file_info({ path: "FOLDER/orders.csv" });
console.log(content.match(/size: (\d+)/)![1]);
