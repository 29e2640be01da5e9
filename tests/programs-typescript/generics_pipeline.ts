type Step<A, B> = (input: A) => B | Promise<B>;
class Pipeline<A, B> {
  private constructor(private readonly run_: (input: A) => Promise<B>) {}
  static start<T>(): Pipeline<T, T> { return new Pipeline<T, T>(async (x) => x); }
  pipe<C>(step: Step<B, C>): Pipeline<A, C> { return new Pipeline<A, C>(async (x) => step(await this.run_(x))); }
  run(input: A): Promise<B> { return this.run_(input); }
}
const pipeline = Pipeline.start<string>()
  .pipe((text) => text.split(/\s+/))
  .pipe(async (words) => words.map((w) => w.toLowerCase()))
  .pipe((words) => words.reduce((m, w) => m.set(w, (m.get(w) ?? 0) + 1), new Map<string, number>()));
const counts = await pipeline.run("The cat and the dog and THE bird");
console.log(counts);
console.log(Object.fromEntries([...counts].filter(([, n]) => n > 1)));
function groupBy<T, K extends string>(items: readonly T[], key: (item: T) => K): Partial<Record<K, T[]>> {
  const out: Partial<Record<K, T[]>> = {};
  for (const item of items) (out[key(item)] ??= []).push(item);
  return out;
}
console.log(groupBy([1, 2, 3, 4, 5], (n) => (n % 2 ? "odd" : "even")));
async function* pages(total: number, size = 2): AsyncGenerator<number[]> {
  for (let i = 0; i < total; i += size) yield Array.from({ length: Math.min(size, total - i) }, (_, j) => i + j);
}
for await (const page of pages(5)) console.log(page);
