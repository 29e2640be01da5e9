const employees = JSON.parse((await mcp__files__read_text_file({ path: "FOLDER/employees.json" })).content);
const reports = employees.map((_: any, i: number) => employees.filter((e: any) => e.manager === i).length);
const best = reports.indexOf(Math.max(...reports));
console.log(`${employees[best].name}: ${reports[best]}`);
