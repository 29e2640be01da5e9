const d = new Date("2025-03-09T15:04:05.678Z");
console.log(d, d.toISOString(), d.getTime(), JSON.stringify({ d }), d.toJSON(), `${d.getUTCFullYear()}-${d.getUTCMonth() + 1}`);
console.log(d.toLocaleDateString(), "|", d.toLocaleDateString("en-US"), "|", d.toLocaleDateString("en-US", { year: "numeric", month: "long", day: "numeric" }), "|", d.toLocaleDateString("en-US", { weekday: "long", year: "numeric", month: "short", day: "numeric" }));
console.log(d.toLocaleDateString("en-US", { month: "short", day: "numeric" }), "|", d.toLocaleDateString("en-US", { month: "long", year: "numeric" }), "|", d.toLocaleDateString("en-US", { month: "2-digit", day: "2-digit", year: "numeric" }), "|", d.toLocaleDateString("en-GB"), "|", d.toLocaleDateString("de-DE"), "|", d.toLocaleDateString("en-CA"));
console.log(d.toLocaleDateString("en-US", { weekday: "short" }), d.toLocaleDateString("en-US", { month: "long" }), d.toLocaleDateString("en-US", { weekday: "long" }), d.toLocaleString("en-US", { month: "short", timeZone: "UTC" }));
console.log(JSON.stringify([d.toLocaleTimeString("en-US"), d.toLocaleString("en-US"), d.toLocaleTimeString("en-US", { hour: "2-digit", minute: "2-digit" }), d.toLocaleTimeString("en-US", { hour12: false }), d.toLocaleTimeString("en-GB"), d.toLocaleString("en-US", { dateStyle: "medium", timeStyle: "short" }), d.toLocaleString("en-US", { dateStyle: "full" })]));
console.log(new Intl.DateTimeFormat("en-US").format(d), "|", new Intl.DateTimeFormat("en-US", { dateStyle: "long" }).format(d), "|", new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" }).format(d));
console.log(new Date(2024, 1, 29).getMonth(), new Date(2024, 0, 31, 12).toISOString(), new Date("2024-02-30").getTime(), new Date("nonsense"), Date.UTC(2020, 0, 1), new Date("March 7, 2024 10:00:00 UTC").toISOString());
const days = (new Date("2025-12-25") - new Date("2025-03-09")) / 86400000;
console.log(days, new Date(d.getTime() + 7 * 86400000).toISOString().slice(0, 10), d.getUTCDay(), new Date(0).toString(), new Date(0).toUTCString(), new Date(0).toDateString());
const next = new Date(d); next.setUTCDate(next.getUTCDate() + 30); console.log(next.toISOString(), next > d, Math.sign(d - next));
try { new Date(NaN).toISOString(); } catch (e) { console.log(e.name, e.message); }
