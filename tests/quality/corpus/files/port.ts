const settings = JSON.parse((await mcp__files__read_text_file({ path: "FOLDER/settings.json" })).content);
console.log(`${settings.server.host}:${settings.server.port}`);
