const day = 24 * 60 * 60 * 1000;
const start = new Date("2026-01-31T12:00:00Z");
const later = new Date(start.getTime() + 30 * day);
console.log(later.toISOString(), (later - start) / day);
const months = Array.from({ length: 4 }, (_, index) => new Date(Date.UTC(2026, index + 1, 0)).getUTCDate());
console.log(months);
const isLeap = (year) => new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;
console.log([1900, 2000, 2024, 2026].map(isLeap));
const weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const due = ["2026-03-06", "2026-03-07", "2026-03-09"].map((text) => new Date(`${text}T00:00:00Z`));
for (const date of due) console.log(date.toISOString().slice(0, 10), weekday[date.getUTCDay()]);
const businessDays = (from, to) => {
  let count = 0;
  for (let at = from.getTime(); at < to.getTime(); at += day) {
    const number = new Date(at).getUTCDay();
    if (number !== 0 && number !== 6) count++;
  }
  return count;
};
console.log(businessDays(due[0], due[2]));
console.log(Math.min(...due), new Date(NaN).getTime(), Number.isNaN(Date.parse("nonsense")));
console.log(JSON.stringify({ at: due[1] }), due[0] < due[1]);
console.log(new Date(2026, 0, 1, 5, 6, 7).toISOString(), new Date("2026-02-30T00:00:00Z").getTime());
const employees = await mcp__fixture__list_employees({ department: "Engineering" });
const years = employees.map(({ name, hired }) => [name, 2026 - Number(hired.slice(0, 4))]);
console.log(years.sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, 3));
