const check = async () => console.log(await mcp__fixture__add({ a: 1, b: 2 }), [1, { a: "x" }], new Map([["k", 1]]), (1234.5).toLocaleString());

// %% array methods
for (const name of Object.getOwnPropertyNames(Array.prototype)) {
  if (name !== "constructor" && name !== "length") (Array.prototype as any)[name] = () => "replaced";
}
await check();

// %% the iterator of arrays
(Array.prototype as any)[Symbol.iterator] = function* () { yield "replaced"; };
await mcp__fixture__add({ a: 1, b: 2 }).then((sum: number) => console.log(sum, { a: [1] }));

// %% string methods
for (const name of Object.getOwnPropertyNames(String.prototype)) {
  try {
    if (name !== "constructor" && name !== "length") (String.prototype as any)[name] = () => "replaced";
  } catch {}
}
await check();

// %% JSON
JSON.stringify = () => '{"a":100,"b":100}';
JSON.parse = () => "replaced";
await check();
console.log((await tools.search("add")).length > 0);

// %% promises
const original = Promise.prototype.then;
(globalThis as any).Promise = class {};
await check();

// %% methods of promises
Promise.prototype.then = function () { return "replaced" as any; };
Promise.prototype.catch = function () { return "replaced" as any; };
mcp__fixture__add({ a: 1, b: 2 });
console.log("alive");

// %% maps
Map.prototype.get = () => "replaced";
Map.prototype.set = () => { throw new Error("replaced"); };
Map.prototype.has = () => false;
console.log(await mcp__fixture__add({ a: 1, b: 2 }));

// %% properties of everything
(Object.prototype as any).x = "inherited";
(Object.prototype as any).parameters = ["x"];
(Object.prototype as any).blocked = true;
(Object.prototype as any).get = () => "inherited";
(Object.prototype as any).value = "inherited";
(Object.prototype as any).toJSON = undefined;
await check();

// %% a setter for everything
Object.defineProperty(Object.prototype, "message", { set() { throw new Error("set"); }, get() { return "inherited"; }, configurable: true });
try {
  await mcp__fixture__fail({ message: "real" });
} catch (error) {
  console.log((error as Error).name, (error as Error).message);
}

// %% reflection
for (const owner of [Object, Reflect, Function.prototype] as any[]) {
  for (const name of Object.getOwnPropertyNames(owner)) {
    if (!["prototype", "length", "name", "caller", "arguments", "constructor"].includes(name)) try { owner[name] = () => "replaced"; } catch {}
  }
}
await check();

// %% errors
(globalThis as any).Error = class { constructor() { throw 1; } };
(globalThis as any).ToolError = null;
Error.prepareStackTrace = () => { throw 2; };
try {
  await mcp__fixture__fail({ message: "real" });
} catch (error: any) {
  console.log(error.name, error.message);
}

// %% the console itself
const { log } = console;
(globalThis as any).console = null;
log("still", await mcp__fixture__add({ a: 1, b: 2 }));

// %% globalThis itself
(globalThis as any).globalThis = null;
console.log("still", await mcp__fixture__add({ a: 1, b: 2 }));

// %% a thenable as an answer to await
const thenable = { then(resolve: (x: unknown) => void) { resolve(mcp__fixture__add({ a: 1, b: 2 })); } };
console.log(await (thenable as any));

// %% an argument that changes while it is read
const arguments_: any = { get a() { delete this.b; this.c = 1; return 1; }, b: 2 };
await mcp__fixture__raw_arguments(arguments_).then((text: unknown) => console.log(text));

// %% a proxy as arguments
const proxied = new Proxy({ a: 1, b: 2 }, { get(target: any, key) { return key === "a" ? 5 : target[key]; }, ownKeys: () => ["a", "b"] });
console.log(await mcp__fixture__add(proxied));

// %% a proxy that throws
const angry = new Proxy({}, { ownKeys() { throw new Error("no keys"); } });
await mcp__fixture__add(angry).catch((error: Error) => console.log(error.message));
