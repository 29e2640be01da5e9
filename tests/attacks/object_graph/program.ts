// %% constructors
const world = (function () {}).constructor("return this")();
console.log(typeof world, typeof world.process, typeof world.require, typeof world.fetch);
const AsyncFunction = (async () => {}).constructor as any;
console.log(await AsyncFunction("return typeof process + typeof require")());
console.log((0, eval)("typeof process"), Reflect.construct(Function, ["return typeof require"])());
console.log(["binding", "mainModule", "dlopen", "getBuiltinModule", "kill", "constructor.constructor"].map((name) => typeof name.split(".").reduce((it: any, key) => it?.[key], world.process)));
console.log(world.process.constructor === Object, Object.keys(world.process.env), Object.getOwnPropertyNames(world.process));

// %% every global
const names = new Set<string>();
for (let it = Function("return this")(); it; it = Object.getPrototypeOf(it)) Object.getOwnPropertyNames(it).forEach((name) => names.add(name));
const known = new Set("AggregateError Array ArrayBuffer AsyncDisposableStack AsyncIterator Atomics BigInt BigInt64Array BigUint64Array Boolean Callbacks DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError TextDecoder TextEncoder ToolError TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob babelHelpers btoa cache clearTimeout console crypto decodeURI display help parsePythonLiteral process decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt performance queueMicrotask setTimeout structuredClone tools undefined unescape __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ __proto__ constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf".split(" "));
console.log([...names].filter((name) => !known.has(name)));

// %% frames of ours
const seen: string[] = [];
(Error as any).prepareStackTrace = (_: unknown, frames: any[]) => {
  for (const frame of frames) seen.push(`${typeof frame.getFunction?.()} ${typeof frame.getThis?.()}`);
  return "";
};
[1].map(() => new Error().stack);
console.log({ get x() { return new Error().stack; } });
console.log(new Set(seen));

// %% callers
function inner() { return (inner as any).caller; }
inner();

// %% hooks through arguments
const got: unknown[] = [];
const spy = new Proxy({}, { get(_, key) { got.push(key); return undefined; }, has: () => false, ownKeys: () => [] });
await mcp__fixture__raw_arguments(spy as any);
console.log(got.map(String));

// %% a forged error
const forged = Object.create(ToolError.prototype, { message: { value: "forged" } });
console.log(forged instanceof ToolError, String(forged));

// %% names of the gateway's own
for (const name of ["onecall__find", "onecall__server", "plan_node_1", "__proto__", "constructor"]) {
  console.log(name, typeof (tools as any)[name]);
}
