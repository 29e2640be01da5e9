const rows = JSON.parse((await mcp__sqlite__read_query({ query: "SELECT day FROM orders" })).replaceAll("'", '"'));
const names = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const counts = new Array(7).fill(0);
for (const row of rows) counts[new Date(row.day + "T00:00:00Z").getUTCDay()]++;
console.log(names[counts.indexOf(Math.max(...counts))]);
