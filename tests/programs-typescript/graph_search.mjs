// Shortest paths, an order of tasks and connected parts, with the usual collections.
const roads = [["A", "B", 4], ["A", "C", 2], ["C", "B", 1], ["B", "D", 5], ["C", "D", 8], ["D", "E", 3], ["X", "Y", 1]];
const neighbours = roads.reduce((map, [from, to, cost]) => {
  for (const [one, other] of [[from, to], [to, from]]) {
    if (!map.has(one)) map.set(one, []);
    map.get(one).push({ to: other, cost });
  }
  return map;
}, new Map());
console.log(neighbours);

function shortest(start) {
  const best = new Map([[start, { cost: 0, path: [start] }]]);
  const queue = [[0, start]];
  while (queue.length) {
    queue.sort(([a], [b]) => b - a);
    const [cost, node] = queue.pop();
    if (cost > best.get(node).cost) continue;
    for (const { to, cost: step } of neighbours.get(node)) {
      const total = cost + step;
      if (total < (best.get(to)?.cost ?? Infinity)) {
        best.set(to, { cost: total, path: [...best.get(node).path, to] });
        queue.push([total, to]);
      }
    }
  }
  return Object.fromEntries(best);
}
console.log(shortest("A"));
console.table(Object.entries(shortest("E")).map(([node, { cost, path }]) => ({ node, cost, path: path.join(">") })));

const needs = { deploy: ["test", "build"], test: ["build"], build: ["fetch"], fetch: [], notify: ["deploy"] };
function order(tasks) {
  const done = new Set();
  const visit = (task, trail = []) => {
    if (done.has(task)) return;
    if (trail.includes(task)) throw new Error(`cycle: ${[...trail, task].join(" -> ")}`);
    for (const need of tasks[task] ?? []) visit(need, [...trail, task]);
    done.add(task);
  };
  Object.keys(tasks).forEach((task) => visit(task));
  return done;
}
console.log(order(needs));
try { order({ ...needs, fetch: ["notify"] }); } catch ({ message }) { console.log(message); }

const parts = [];
const unseen = new Set(neighbours.keys());
for (const start of unseen) {
  const part = new Set();
  const stack = [start];
  for (let node; (node = stack.pop()) !== undefined;) {
    if (part.has(node)) continue;
    part.add(node); unseen.delete(node);
    stack.push(...neighbours.get(node).map(({ to }) => to));
  }
  parts.push([...part].sort());
}
console.log(parts, parts.flat().length, parts.at(-1), parts.findLast((part) => part.length > 2)?.toSorted().reverse());
