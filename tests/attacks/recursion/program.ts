// %% a function
const f = (): number => f() + 1;
f();

// %% caught, and again
let caught = 0;
const g = (): void => {
  try {
    g();
  } catch {
    caught++;
    throw new Error("deeper");
  }
};
try {
  g();
} catch (error) {
  console.log("caught", caught > 0, (error as Error).message);
}

// %% nested arrays
let deep: unknown[] = [];
for (let i = 0; i < 200_000; i++) deep = [deep];
console.log(deep);
JSON.stringify(deep);

// %% as an argument
let nested: unknown = 1;
for (let i = 0; i < 50_000; i++) nested = { nested };
await mcp__fixture__echo({ value: nested });

// %% an argument that contains itself
const loop: any = {};
loop.loop = loop;
await mcp__fixture__echo({ value: loop });

// %% toJSON that returns itself anew
class Again {
  toJSON() {
    return { again: new Again() };
  }
}
await mcp__fixture__echo({ value: new Again() });

// %% a getter
const o = { get x(): number { return this.x; } };
o.x;

// %% a proxy of itself
const handler: ProxyHandler<any> = {};
const proxy: any = new Proxy({}, handler);
Object.setPrototypeOf(handler, proxy);
proxy.x;

// %% a regular expression
new RegExp("(".repeat(100_000) + ")".repeat(100_000));

// %% toString of an error's message
const error: any = new Error();
error.message = { toString() { return `${error.message}`; } };
throw error;

// %% structuredClone
let chain: any = {};
for (let i = 0; i < 200_000; i++) chain = { chain };
structuredClone(chain);

// %% eval in eval
const source = "eval(source)";
eval(source);
