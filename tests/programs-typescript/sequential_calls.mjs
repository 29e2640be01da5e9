let sum = 0;
for (let i = 0; i < 20; i++) sum = await mcp__fixture__add({ a: sum, b: i });
console.log(sum, await mcp__fixture__add(1.5, 2.25), await mcp__fixture__echo({ value: [1, "x", null, true, { y: 2.5 }] }));
const structured = await mcp__fixture__structured({});
console.log(structured, structured.nested.ratio, structured.tags.length);
console.log(await mcp__fixture__wrapped_list(), await mcp__fixture__nothing(), await mcp__fixture__echo({ value: "hello" }));
const started = [1, 2, 3].map((n) => mcp__fixture__echo({ value: n * 10 }));
console.log(await Promise.all(started), await tools.add({ a: 1, b: 1 }));
for (const city of ["Berlin", "Paris"]) console.log(city, await mcp__fixture__weather({ city }).catch((error) => error.message));
try { await mcp__fixture__fail({ message: "planned" }); } catch ({ name, message }) { console.log(name, "|", message); }
console.log(await mcp__fixture__positional({ a: 1 }), await mcp__fixture__raw_arguments({ z: 1, a: [1.0, 2.50, 1e3], s: "é\n" }));
