const result = await mcp__chat__post_message({ channel: "#releases", text: "Deploy is done" });
console.log(result.ok);
