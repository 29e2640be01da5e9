// What generated functions return, and what they throw, as JSON.

import { ToolError, fixture } from "./tools/index.js";
import { add, bigint, echo, fail, mixed, nothing, rows } from "./tools/fixture/index.js";
import { structured, wrappedList } from "./tools/fixture/query/index.js";

async function main(): Promise<void> {
  const values: unknown[] = await Promise.all([
    add({ a: 2, b: 3 }),
    bigint(),
    echo({ value: { deep: [1, 2.5, "é", null, true] } }),
    echo({ value: "NaN" }),
    mixed(),
    nothing(),
    rows({ count: 3 }),
    structured(),
    wrappedList(),
  ]);
  values.push((values[4] as { content: { mimeType?: string }[] }).content[1]?.mimeType);
  try {
    await fixture.fail({ message: "on purpose" });
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    values.push(error.message);
  }
  await fail({ message: "again" }).catch(() => undefined);
  const digits = (_key: string, value: unknown): unknown =>
    typeof value === "bigint" ? `bigint ${value}` : value;
  console.log(JSON.stringify(values, digits));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
