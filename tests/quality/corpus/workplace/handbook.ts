const { pages } = await mcp__handbook__find_pages({ words: "vacation" });
console.log(pages.length);
