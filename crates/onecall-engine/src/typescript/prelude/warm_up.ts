// In a block, so that no name is left for the program.
{
  interface Row { x: number; text: string }
  const double = async (x: number): Promise<Row> => ({ x, text: (x * 2).toFixed(2) });
  const rows: Row[] = await Promise.all([1, 2, 3].map(double));
  const totals = new Map<number, Row[]>();
  for (const row of rows.sort((a, b) => b.x - a.x)) {
    totals.set(row.x % 2, [...(totals.get(row.x % 2) ?? []), JSON.parse(JSON.stringify(row))]);
  }
  class Point {
    constructor(public readonly x: number) {}
  }
  try {
    throw new RangeError("aaa".replace(/a+/g, "b"));
  } catch (error) {
    String((error as Error).stack);
  }
  console.log("%s", "", new Point(1), totals, [..."abc"].map((letter) => letter.charCodeAt(0)));
  Object.entries({ a: 1 }).reduce((sum, [, value]) => sum + value, Math.floor(1.5)).toLocaleString();
}
