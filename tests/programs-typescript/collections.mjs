const people = [{ name: "Ann", age: 31, city: "Oslo" }, { name: "Bob", age: 25, city: "Rome" }, { name: "Cid", age: 31, city: "Rome" }];
console.log(people.map(({ name, ...rest }) => rest), people.find((p) => p.age > 30), people.findLast((p) => p.age > 30)?.name, people.some((p) => p.city === "Oslo"), people.every((p) => p.age));
console.log(Object.entries(people[0]), Object.fromEntries(people.map((p) => [p.name, p.age])), people.toSorted((a, b) => a.age - b.age || b.name.localeCompare(a.name)).map((p) => p.name));
const byCity = people.reduce((m, p) => m.set(p.city, [...(m.get(p.city) ?? []), p.name]), new Map());
console.log(byCity, [...byCity.keys()], Object.fromEntries(byCity), new Set(people.map((p) => p.age)).size);
const a = new Set([1, 2, 3]), b = new Set([2, 3, 4]);
console.log([...a].filter((x) => b.has(x)), new Set([...a, ...b]), [...a].filter((x) => !b.has(x)));
console.log(Array.from("abc", (c, i) => c + i), Array.of(7), [..."ab"].entries().next(), [3, 1, 2].toReversed?.() ?? [], [1, 2, 3, 4].with?.(1, 9) ?? [], [5, 6].includes(6), [1, 2, 3].fill(0, 1), [1, 2, 3, 4, 5].copyWithin(0, 3));
console.log([1, 2, 3, 4, 5, 6].splice(1, 2), [[1, "a"], [2, "b"]].map(([n, s]) => s + n), [..."hello"].reduce((m, c) => ({ ...m, [c]: (m[c] ?? 0) + 1 }), {}));
const { name, address: { street = "unknown", ...others } = {}, ...remaining } = { name: "X", extra: 1, address: { zip: 5 } };
console.log(name, street, others, remaining);
console.log(JSON.stringify({ a: [1, { b: undefined, c: () => 1, d: null, e: NaN, f: new Date(0), g: new Map([[1, 2]]) }] }), JSON.stringify([undefined]), JSON.stringify({ a: 1, b: [1, 2] }, null, 2), JSON.stringify({ a: 1, b: 2 }, ["a"]), JSON.parse('{"x":[1,2,{"y":null}]}', (k, v) => (typeof v === "number" ? v * 2 : v)));
function* fib() { let [x, y] = [0, 1]; while (true) { yield x; [x, y] = [y, x + y]; } }
const first = []; for (const n of fib()) { if (n > 50) break; first.push(n); } console.log(first);
const frozen = Object.freeze({ a: 1 }); try { "use strict"; frozen.a = 2; } catch (e) { console.log(e.name); } console.log(frozen, Object.isFrozen(frozen));
const proxy = new Proxy({}, { get: (_, key) => `got ${String(key)}` }); console.log(proxy.anything, Reflect.ownKeys({ b: 1, a: 2, 1: 0 }));
const weak = new WeakMap(); const key = {}; weak.set(key, 1); console.log(weak.get(key), weak.has({}));
label: for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) { if (j === 2) continue label; if (i === 2) break label; console.log(i, j); }
var hoisted = typeof later; function later() {} console.log(hoisted, typeof undeclared, void 0, [10, 1, 3].sort().join(), [..."zyx"].sort().reverse().join(""));
console.log(structuredClone({ a: [1, { b: 2 }], s: new Set([1]) }), [1, 2, 3].indexOf(4), Array.isArray([]), new Array(2).fill().map((_, i) => i));
