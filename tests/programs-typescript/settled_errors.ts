const jobs: Record<string, () => Promise<unknown>> = {
  sum: () => mcp__fixture__add({ a: 1, b: 2 }),
  broken: () => mcp__fixture__fail({ message: "disk full" }),
  refused: () => mcp__fixture__rpc_error({}),
  text: () => mcp__fixture__echo({ value: "plain" }),
  nothing: () => mcp__fixture__nothing({}),
};
const results = await Promise.allSettled(Object.values(jobs).map((job) => job()));
Object.keys(jobs).forEach((name, i) => {
  const result = results[i];
  if (result.status === "fulfilled") console.log(name, "=>", result.value);
  else console.log(name, "failed:", result.reason.message, `(${result.reason.name})`);
});
console.log(results.filter((r): r is PromiseFulfilledResult<unknown> => r.status === "fulfilled").length);
const first = await Promise.any([jobs.broken(), jobs.sum()]);
console.log(first);
await Promise.any([jobs.broken(), jobs.refused()]).catch((e: AggregateError) => console.log(e.name, e.errors.length, e.message));
