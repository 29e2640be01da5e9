// %% one of 10 MB
const big = await mcp__fixture__echo({ value: "x".repeat(10_000_000) });
console.log(typeof big, big.length);

// %% one over the cap
await mcp__fixture__echo({ value: "x".repeat(68_000_000) }).catch((error: Error) => console.log(`${error}`));

// %% twenty of 1 MB at once
const all = await Promise.all(Array.from({ length: 20 }, (_, i) => mcp__fixture__echo({ value: String(i % 10).repeat(1_000_000) })));
console.log(all.every((it) => String(it).length >= 7));

// %% twenty thousand keys
const table = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key ${i}`, i]));
console.log(Object.keys(await mcp__fixture__echo({ value: table })).length);

// %% a number of thousands of digits
const n = 7n ** 5_000n;
console.log((await mcp__fixture__echo({ value: { n } })).n === n);
