function* fibonacci() {
  let [a, b] = [0, 1];
  for (;;) {
    yield a;
    [a, b] = [b, a + b];
  }
}
const take = (n, source) => {
  const items = [];
  for (const item of source) {
    if (items.length === n) break;
    items.push(item);
  }
  return items;
};
console.log(take(10, fibonacci()));
function* chunked(items, size) {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
const rows = await mcp__fixture__rows({ count: 7 });
console.log([...chunked(rows, 3)].map((chunk) => chunk.length));
function* walk(tree, path = []) {
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === "object") yield* walk(value, [...path, key]);
    else yield [[...path, key].join("."), value];
  }
}
console.log(new Map(walk({ a: 1, b: { c: 2, d: { e: 3 } } })));
const talk = (function* () {
  const name = yield "name?";
  const age = yield `hello ${name}, age?`;
  return { name, age };
})();
console.log(talk.next(), talk.next("Ada"), talk.next(36), talk.next());
class Range {
  constructor(from, to) {
    Object.assign(this, { from, to });
  }
  *[Symbol.iterator]() {
    for (let n = this.from; n <= this.to; n++) yield n;
  }
}
console.log([...new Range(1, 5)], Math.max(...new Range(3, 8)), Array.from(new Range(1, 3), (n) => n * 2));
const [one, two] = new Range(7, 99);
console.log(one, two);
