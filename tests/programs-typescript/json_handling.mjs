const text = '{"b": 1, "a": [true, null, 1e3, -0.5], "nested": {"é": "\\u2615 \\n"}, "big": 12345678901234567890}';
const data = JSON.parse(text);
console.log(data, Object.keys(data));
console.log(JSON.stringify(data), JSON.stringify(data, null, 2).split("\n").length);
console.log(JSON.stringify({ u: undefined, f() {}, n: NaN, d: new Date(0), m: new Map([[1, 2]]), s: Symbol("x") }));
console.log(JSON.stringify([undefined, () => 1, Infinity]), JSON.stringify("quote\" and \u2028"));
console.log(JSON.stringify(data, ["a", "b"]), JSON.stringify(data, (key, value) => (typeof value === "number" ? value * 2 : value)));
console.log(JSON.parse('{"when":"2026-01-02","n":[1,2]}', (key, value) => (key === "when" ? new Date(value) : Array.isArray(value) ? value.length : value)));
class Money {
  constructor(amount) {
    this.amount = amount;
  }
  toJSON() {
    return `${this.amount.toFixed(2)} EUR`;
  }
}
console.log(JSON.stringify({ price: new Money(3) }), structuredClone({ a: [1, { b: 2 }], when: new Date(5) }));
for (const bad of ["{", "[1,]", "{'a': 1}", "undefined", ""]) {
  try {
    JSON.parse(bad);
  } catch (error) {
    console.log(bad, error.name);
  }
}
const loop = { name: "loop" };
loop.self = loop;
try {
  JSON.stringify(loop);
} catch (error) {
  console.log(error instanceof TypeError);
}
console.log(await mcp__fixture__echo({ value: { deep: [[[{ x: null }]]], text: "ü\t" } }));
const lines = ['{"id":1,"ok":true}', "", '{"id":2,"ok":false}'].filter(Boolean).map((line) => JSON.parse(line));
console.log(lines.filter(({ ok }) => ok), JSON.stringify(lines, null, "\t"));
