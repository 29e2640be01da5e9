class LruCache<K, V> {
  #entries = new Map<K, V>();
  hits = 0;
  misses = 0;
  constructor(private readonly capacity: number) {}
  get(key: K, compute: (key: K) => V): V {
    if (this.#entries.has(key)) {
      this.hits++;
      const value = this.#entries.get(key)!;
      this.#entries.delete(key);
      this.#entries.set(key, value);
      return value;
    }
    this.misses++;
    const value = compute(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.capacity) this.#entries.delete(this.#entries.keys().next().value!);
    return value;
  }
  keys(): K[] {
    return [...this.#entries.keys()];
  }
}
const cache = new LruCache<number, bigint>(4);
const factorial = (n: number): bigint => (n < 2 ? 1n : BigInt(n) * cache.get(n - 1, factorial));
console.log(factorial(25), cache.hits, cache.misses, cache.keys());
for (const key of [24, 3, 24, 7]) cache.get(key, factorial);
console.log(cache.hits, cache.misses, cache.keys());
const memo = <A extends unknown[], R>(fn: (...args: A) => R) => {
  const known = new Map<string, R>();
  return (...args: A): R => {
    const key = JSON.stringify(args);
    if (!known.has(key)) known.set(key, fn(...args));
    return known.get(key)!;
  };
};
const paths = memo((rows: number, columns: number): number =>
  rows === 0 || columns === 0 ? 1 : paths(rows - 1, columns) + paths(rows, columns - 1));
console.log(paths(16, 16));
const prices = new LruCache<string, Promise<number>>(2);
const price = (level: string) => prices.get(level, async () => (await mcp__fixture__get_budget({ level })).per_quarter);
console.log(await Promise.all(["junior", "junior", "staff"].map(price)), prices.hits);
