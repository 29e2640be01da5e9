class Heap<T> {
  private items: T[] = [];
  constructor(private before: (a: T, b: T) => boolean) {}
  get size() {
    return this.items.length;
  }
  push(item: T): this {
    let at = this.items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.before(this.items[at]!, this.items[parent]!)) break;
      [this.items[at], this.items[parent]] = [this.items[parent]!, this.items[at]!];
      at = parent;
    }
    return this;
  }
  pop(): T | undefined {
    const top = this.items[0];
    const last = this.items.pop();
    if (this.items.length > 0) {
      this.items[0] = last!;
      for (let at = 0; ; ) {
        const [left, right] = [2 * at + 1, 2 * at + 2];
        let best = at;
        if (left < this.items.length && this.before(this.items[left]!, this.items[best]!)) best = left;
        if (right < this.items.length && this.before(this.items[right]!, this.items[best]!)) best = right;
        if (best === at) break;
        [this.items[at], this.items[best]] = [this.items[best]!, this.items[at]!];
        at = best;
      }
    }
    return top;
  }
}
type Edge = [to: string, cost: number];
const graph: Record<string, Edge[]> = { A: [["B", 4], ["C", 1]], B: [["D", 1]], C: [["B", 2], ["D", 6]], D: [] };
const shortest = (from: string) => {
  const distance = new Map<string, number>();
  const queue = new Heap<Edge>(([, a], [, b]) => a < b).push([from, 0]);
  while (queue.size > 0) {
    const [node, cost] = queue.pop()!;
    if (distance.has(node)) continue;
    distance.set(node, cost);
    graph[node]!.forEach(([to, step]) => queue.push([to, cost + step]));
  }
  return distance;
};
console.log(shortest("A"));
const heap = new Heap<number>((a, b) => a < b);
[5, 3, 8, 1, 9, 2].forEach((n) => heap.push(n));
console.log(Array.from({ length: heap.size }, () => heap.pop()), heap.pop(), heap);
