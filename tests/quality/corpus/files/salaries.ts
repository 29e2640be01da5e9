const employees = JSON.parse((await mcp__files__read_text_file({ path: "FOLDER/employees.json" })).content);
const departments = new Map<string, number[]>();
for (const e of employees) {
  if (!departments.has(e.department)) departments.set(e.department, []);
  departments.get(e.department)!.push(e.salary);
}
for (const name of [...departments.keys()].sort()) {
  const all = departments.get(name)!;
  console.log(`${name}: ${Math.round(all.reduce((a, b) => a + b, 0) / all.length)}`);
}
