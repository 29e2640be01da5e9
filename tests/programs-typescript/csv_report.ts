const csv = `id,name,amount,paid
1,"Smith, John",120.50,true
2,"O""Brien",80,false
3,Zoë,,true`;
type Row = { id: number; name: string; amount: number | null; paid: boolean };
function parseLine(line: string): string[] {
  const cells: string[] = [];
  let cell = "", quoted = false;
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quoted) {
      if (c === '"' && line[i + 1] === '"') { cell += '"'; i++; }
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ",") { cells.push(cell); cell = ""; }
    else cell += c;
  }
  return [...cells, cell];
}
const [header, ...lines] = csv.split("\n").map(parseLine);
const rows = lines.map((line): Row => ({ id: Number(line[0]), name: line[1], amount: line[2] === "" ? null : parseFloat(line[2]), paid: line[3] === "true" }));
console.log(header, rows);
const total = rows.reduce((s, r) => s + (r.amount ?? 0), 0);
console.log(`Total: $${total.toFixed(2)} (${rows.filter((r) => r.paid).length}/${rows.length} paid)`);
console.log(rows.map((r) => `${String(r.id).padStart(3)} | ${r.name.padEnd(12)} | ${(r.amount?.toFixed(2) ?? "n/a").padStart(8)}`).join("\n"));
console.log(rows.map((r) => [r.name, r.amount]));
