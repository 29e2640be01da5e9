const employees = JSON.parse((await mcp__files__read_text_file({ path: "FOLDER/employees.json" })).content);
const counts: Record<string, number> = {};
for (const e of employees) for (const skill of e.skills) counts[skill] = (counts[skill] ?? 0) + 1;
for (const [skill, n] of Object.entries(counts).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))) console.log(skill, n);
