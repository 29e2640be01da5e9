const ticket = { id: "T-1", tags: ["a", "b", "c"], meta: { owner: { name: "Ada" }, score: 0 } };
const { id, tags: [first, ...others], meta: { owner: { name: owner = "nobody" }, score = 5, rank = 1 } } = ticket;
console.log(id, first, others, owner, score, rank);
let [a, , b = 10, ...rest] = [1, 2, undefined, 4, 5];
[a, b] = [b, a];
console.log(a, b, rest);
const pick = ({ x, y: { z } = { z: "default" }, ...more } = {}) => [x, z, more];
console.log(pick(), pick({ x: 1, y: { z: 2 }, w: 3 }));
const key = "dynamic";
const { [key]: value = "missing", ...none } = { [`${key}`]: 7 };
console.log(value, none);
for (const [name, { price, stock = 0 }] of Object.entries({ pen: { price: 2 }, ink: { price: 9, stock: 4 } })) {
  console.log(name, price * stock);
}
const merged = { ...{ a: 1, b: 2 }, ...{ b: 3 }, c: undefined ?? "c", ...(false && { d: 1 }), ...null };
console.log(merged, ticket?.meta?.missing?.deep, ticket.meta.score || "falsy", ticket.meta.score ?? "nullish");
let counter = null;
counter ??= 1;
counter ||= 2;
counter &&= counter + 5;
console.log(counter);
const count = function (...numbers) {
  return numbers.length + arguments.length;
};
console.log(count(...[1, 2], ..."ab"), Math.max(...new Set([3, 9, 4])));
