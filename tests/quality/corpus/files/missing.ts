try {
  console.log((await mcp__files__read_text_file({ path: "FOLDER/secrets.txt" })).content);
} catch {
  console.log("missing");
}
