async function table(name: string) {
  const { content } = await mcp__files__read_text_file({ path: `FOLDER/${name}` });
  const [head, ...rows] = content.trim().split("\n").map((line: string) => line.split(","));
  return rows.map((row: string[]) => Object.fromEntries(head.map((key: string, i: number) => [key, row[i]])));
}
const [orders, products] = await Promise.all([table("orders.csv"), table("products.csv")]);
const price = new Map(products.map((p: any) => [p.id, Number(p.price_cents)]));
let best: any = null;
let value = -1;
for (const order of orders) {
  const v = Number(order.quantity) * price.get(order.product_id)!;
  if (v > value) { best = order; value = v; }
}
console.log(best.id);
