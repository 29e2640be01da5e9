const tickets = ["T-1001", "T-1002", "T-1003"];
const settled = await Promise.allSettled(tickets.map((id) => mcp__fixture__get_ticket({ id })));
const rows = settled.flatMap((it) => (it.status === "fulfilled" ? [it.value] : []));
console.log(`# Tickets\n\n${rows.length} of ${tickets.length} were found.\n`);
const columns = ["id", "status", "priority", "title"] as const;
const width = Object.fromEntries(columns.map((name) => [name, Math.max(name.length, ...rows.map((row) => String(row[name]).length))]));
const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(width[columns[at]!]!)).join(" | ")} |`;
console.log(line(columns));
console.log(line(columns.map((name) => "-".repeat(width[name]!))));
for (const row of rows) console.log(line(columns.map((name) => String(row[name]))));
const links = "See [docs](https://a.example/x?y=1) and [more](./b.md 'title'), not \\[this\\](x).";
console.log([...links.matchAll(/(?<!\\)\[([^\]]+)\]\(([^)\s]+)(?:\s+'([^']*)')?\)/g)].map(([, text, url, title]) => ({ text, url, title })));
const slug = (title: string) => title.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
console.log(["Ärger & Öl", "  Top 10: Ideas! ", "日本 x"].map(slug));
console.log(`
    indented
  text`.split("\n").map((it) => it.trim()).filter(Boolean));
