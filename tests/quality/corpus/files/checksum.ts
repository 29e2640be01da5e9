const { content } = await mcp__files__read_text_file({ path: "FOLDER/products.csv" });
const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(content));
console.log([...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, "0")).join(""));
