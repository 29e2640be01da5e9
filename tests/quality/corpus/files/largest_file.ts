const { content } = await mcp__files__list_directory_with_sizes({ path: "FOLDER", sortBy: "size" });
const first = content.split("\n").find((line: string) => line.startsWith("[FILE]"))!;
console.log(first.split(/\s+/)[1]);
