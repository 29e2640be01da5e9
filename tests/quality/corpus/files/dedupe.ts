const names = (await mcp__files__read_text_file({ path: "FOLDER/customers.jsonl" })).content
  .split("\n").filter(Boolean).map((line: string) => JSON.parse(line).name);
console.log(new Set(names).size);
const twice = new Set(names.filter((n: string, i: number) => names.indexOf(n) !== i));
[...twice].sort().forEach((n) => console.log(n));
