async function mapLimit<T, R>(items: T[], limit: number, work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  let active = 0;
  let most = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      most = Math.max(most, ++active);
      results[index] = await work(items[index]!, index);
      active--;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  console.log("most at once:", most);
  return results;
}
const sums = await mapLimit([1, 2, 3, 4, 5, 6, 7], 3, (n) => mcp__fixture__add({ a: n, b: n * 10 }));
console.log(sums);
const levels = ["junior", "senior", "staff"] as const;
const budgets = await mapLimit([...levels], 2, async (level) => (await mcp__fixture__get_budget({ level })).limits);
console.log(Object.fromEntries(levels.map((level, index) => [level, budgets[index]])));
