import bisect
import heapq
from operator import itemgetter, attrgetter

rows = await mcp__fixture__rows(1000)

top = heapq.nlargest(3, rows, key=lambda r: r["quantity"] * r["price"])
for r in top:
    print(r["id"], r["product"], f"{r['quantity'] * r['price']:.2f}")
print([r["id"] for r in heapq.nsmallest(3, rows, key=itemgetter("price", "id"))])

prices = sorted(r["price"] for r in rows)
for limit in (100, 250, 400):
    print(limit, bisect.bisect_right(prices, limit), bisect.bisect_left(prices, limit))

# stable multi-key sorting: region ascending, quantity descending
ordered = sorted(rows, key=itemgetter("quantity"), reverse=True)
ordered.sort(key=itemgetter("region"))
print([(r["region"], r["quantity"], r["id"]) for r in ordered[:4]])

heap = []
for priority, job in [(3, "c"), (1, "a"), (2, "b"), (1, "a2")]:
    heapq.heappush(heap, (priority, job))
print([heapq.heappop(heap) for _ in range(len(heap))])
print(list(heapq.merge([1, 4, 7], [2, 5], [3, 6])))
names = ["émile", "Zoe", "ana", "Bob"]
print(sorted(names), sorted(names, key=str.casefold), sorted(names, key=len))
data = [("a", 2), ("b", 1), ("c", 2), ("d", 1)]
print(sorted(data, key=lambda p: p[1]), sorted(data, key=lambda p: p[1], reverse=True))

# Dijkstra on a small graph
graph = {"A": {"B": 4, "C": 1}, "B": {"D": 1}, "C": {"B": 2, "D": 5}, "D": {}}
best, todo = {}, [(0, "A", "A")]
while todo:
    cost, node, path = heapq.heappop(todo)
    if node in best:
        continue
    best[node] = (cost, path)
    for neighbour, weight in graph[node].items():
        heapq.heappush(todo, (cost + weight, neighbour, path + neighbour))
print(best)
