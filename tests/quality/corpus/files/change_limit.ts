const path = "FOLDER/settings.json";
const settings = JSON.parse((await mcp__files__read_text_file({ path })).content);
settings.features.limit = 50;
await mcp__files__write_file({ path, content: JSON.stringify(settings) });
const sorted = (value: any): any =>
  value && typeof value === "object" && !Array.isArray(value)
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
    : value;
console.log(JSON.stringify(sorted(JSON.parse((await mcp__files__read_text_file({ path })).content))));
