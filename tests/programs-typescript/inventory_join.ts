interface Product { sku: string; name: string; price: number }
interface Stock { sku: string; warehouse: string; quantity: number }
const products: Product[] = [
  { sku: "A1", name: "Lamp", price: 39.9 },
  { sku: "B2", name: "Desk", price: 249 },
  { sku: "C3", name: "Chair", price: 89.5 },
];
const stock: Stock[] = [
  { sku: "A1", warehouse: "Berlin", quantity: 12 },
  { sku: "A1", warehouse: "Oslo", quantity: 3 },
  { sku: "C3", warehouse: "Oslo", quantity: 0 },
  { sku: "Z9", warehouse: "Berlin", quantity: 5 },
];
const groupBy = <T, K extends PropertyKey>(items: readonly T[], key: (item: T) => K) =>
  items.reduce((groups, item) => {
    (groups[key(item)] ??= []).push(item);
    return groups;
  }, {} as Record<K, T[]>);
const bySku = groupBy(stock, (it) => it.sku);
const joined = products.map((product) => ({
  ...product,
  quantity: (bySku[product.sku] ?? []).reduce((sum, { quantity }) => sum + quantity, 0),
}));
console.table(joined);
console.log("value", joined.reduce((sum, { price, quantity }) => sum + price * quantity, 0).toFixed(2));
const known = new Set(products.map(({ sku }) => sku));
console.log("orphans", stock.filter(({ sku }) => !known.has(sku)));
console.log("sold out", joined.filter(({ quantity }) => !quantity).map(({ name }) => name).join(", "));
type Summary = Partial<Record<Stock["warehouse"], number>>;
const perWarehouse = stock.reduce<Summary>((all, it) => ({ ...all, [it.warehouse]: (all[it.warehouse] ?? 0) + it.quantity }), {});
console.log(perWarehouse satisfies Summary);
