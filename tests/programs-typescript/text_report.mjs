const employees = await mcp__fixture__list_employees({});
const byDepartment = employees.reduce((groups, e) => ({ ...groups, [e.department]: [...(groups[e.department] ?? []), e] }), {});
const lines = ["# Departments", ""];
for (const [department, members] of Object.entries(byDepartment).sort(([a], [b]) => a.localeCompare(b))) {
  const payroll = members.reduce((sum, { salary }) => sum + salary, 0);
  lines.push(`## ${department} (${members.length})`, `Payroll: ${payroll.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 0 })}`);
  for (const { name, title, skills = [] } of members) lines.push(`- **${name}**, ${title}${skills.length ? `: ${skills.join(", ")}` : ""}`);
  lines.push("");
}
console.log(lines.join("\n"));
const top = employees.toSorted((a, b) => b.salary - a.salary).slice(0, 3);
console.log(top.map(({ name, salary }) => ({ name, salary })));
console.log(Object.fromEntries(Object.entries(byDepartment).map(([k, v]) => [k, v.map((e) => e.name)])));
const years = employees.map((e) => new Date(e.hired).getUTCFullYear());
console.log(Math.min(...years), Math.max(...years), [...new Set(years)].sort());
