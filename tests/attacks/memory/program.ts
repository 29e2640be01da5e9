// %% no more than the limit
const rows: string[] = [];
let held = 0;
try {
  while (true) rows.push("x".repeat(1_000_000) + rows.length);
} catch {
  held = rows.length;
  rows.length = 0;
  console.log("a few megabytes:", held > 5, "not many more than allowed:", held < 200);
}

// %% a text that doubles
let text = "x";
while (true) text += text;

// %% an array that grows
const all: string[] = [];
while (true) all.push(`row ${all.length} `.repeat(100));

// %% an array of a billion
console.log(new Array(1e9).fill({}).length);

// %% a buffer of a terabyte
new ArrayBuffer(1e12);

// %% buffers
const buffers: Uint8Array[] = [];
while (true) buffers.push(new Uint8Array(10_000_000));

// %% an object that grows
const table: Record<string, string> = {};
for (let i = 0; ; i++) table[`key ${i}`] = `value ${i}`;

// %% a map that grows
const map = new Map();
for (let i = 0; ; i++) map.set(i, { i });

// %% closures
let outer: unknown = null;
const nest = (inner: unknown) => () => inner;
while (true) outer = nest(outer);

// %% joined
console.log(new Array(1e6).fill("x".repeat(1e4)).join(",").length);

// %% padded
console.log("x".padStart(2 ** 29).length, "x".padStart(2 ** 29 - 1).length);

// %% json that grows
let doubled: unknown[] = ["x".repeat(1000)];
for (let i = 0; i < 30; i++) doubled = [doubled, doubled];
console.log(JSON.stringify(doubled).length);

// %% promises
const promises: Promise<unknown>[] = [];
while (true) promises.push(new Promise(() => {}));

// %% big integers
let n = 3n;
while (true) n *= n;

// %% in the text of an error
throw new Error("x".repeat(2_000_000));

// %% in a failure that catches it
const kept: unknown[] = [];
while (true) {
  try {
    kept.push("y".repeat(100_000) + kept.length);
  } catch {
    kept.push(null);
  }
}
