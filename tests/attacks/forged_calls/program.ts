// %% by name
await mcp__fixture__counter().catch((error: Error) => console.log(`${error}`));

// %% by every other way
for (const get of [
  () => (tools as any).counter,
  () => (tools as any).mcp__fixture__counter,
  () => (globalThis as any)["mcp__fixture__counter"],
  () => Function("return mcp__fixture__counter")(),
]) {
  try {
    console.log(await get()({}));
  } catch (error) {
    console.log(`${error}`);
  }
}
try {
  const all = await import("./servers/fixture");
  console.log((all as any).counter);
} catch (error) {
  console.log(`${error}`);
}

// %% imported
import { counter } from "./servers/fixture";
console.log(await counter());
