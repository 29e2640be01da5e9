class RetryError extends Error {
  constructor(message: string, readonly attempts: number, options?: ErrorOptions) {
    super(message, options);
    this.name = "RetryError";
  }
}
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
async function retry<T>(task: (attempt: number) => Promise<T>, most = 3): Promise<T> {
  let last: unknown;
  for (let attempt = 1; attempt <= most; attempt++) {
    try {
      return await task(attempt);
    } catch (error) {
      last = error;
      console.log(`attempt ${attempt}: ${error instanceof Error ? error.message : error}`);
      await sleep(attempt);
    }
  }
  throw new RetryError(`gave up after ${most}`, most, { cause: last });
}
console.log(await retry(async (attempt) => {
  if (attempt < 3) await mcp__fixture__fail({ message: `not yet (${attempt})` });
  return mcp__fixture__add({ a: attempt, b: 10 });
}));
try {
  await retry(() => mcp__fixture__fail({ message: "never" }), 2);
} catch (error) {
  const e = error as RetryError;
  console.log(e.name, e.attempts, e.message, (e.cause as Error).message, e.cause instanceof ToolError);
}
