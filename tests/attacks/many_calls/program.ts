const outcome = async (call: Promise<unknown>) => call.catch((error) => String(error.message));

// %% a million, one after the other
let refused = 0;
for (let n = 0; n < 1_000_000; n++) {
  try {
    await mcp__fixture__add(n, 1);
  } catch (error) {
    if (++refused === 100) {
      console.log(n, (error as Error).message);
      break;
    }
  }
}

// %% ten thousand at once
const results = await Promise.all(Array.from({ length: 10_000 }, () => outcome(mcp__fixture__add(1, 1))));
const counts = new Map<unknown, number>();
for (const result of results) counts.set(result, (counts.get(result) ?? 0) + 1);
for (const [value, count] of counts) console.log(count, value);

// %% no more at once than allowed
console.log(Math.max(...(await Promise.all(Array.from({ length: 40 }, () => mcp__fixture__in_flight({ ms: 20_000, until: 4 }))))));

// %% nobody waits for them
for (let n = 0; n < 50; n++) mcp__fixture__add(n, n);
console.log("they are finished all the same");

// %% one that never ends
mcp__fixture__hang();
console.log("waiting");

// %% uncaught
for (let n = 0; n < 1000; n++) await mcp__fixture__add(n, 1);
