from itertools import islice, chain, accumulate, takewhile, count, pairwise, zip_longest, product, combinations, permutations, starmap, tee, cycle, compress
from functools import reduce, partial
import operator

rows = await mcp__fixture__rows(count=200)

def only(rows, **criteria):
    for row in rows:
        if all(row[k] == v for k, v in criteria.items()):
            yield row

def running_total(rows):
    total = 0
    for row in rows:
        total += row["quantity"]
        received = yield row["id"], total
        if received == "reset":
            total = 0

pipeline = only(rows, region="north", product="mouse")
gen = running_total(pipeline)
print(next(gen))
print(gen.send("reset"))
print(list(islice(gen, 3)))
gen.close()

def flatten(items):
    for item in items:
        if isinstance(item, list):
            yield from flatten(item)
        else:
            yield item

print(list(flatten([1, [2, [3, [4]], 5], [[]], 6])))
print(list(accumulate([3, 1, 4, 1, 5], max)), list(accumulate(range(5))))
print(list(takewhile(lambda n: n * n < 50, count(1))))
print([b - a for a, b in pairwise([1, 4, 9, 16])])
print(list(zip_longest("ab", "xyz", fillvalue="-")))
print(["".join(p) for p in permutations("abc", 2)])
print(len(list(product("abc", repeat=3))), list(combinations(range(4), 2))[-1])
print(reduce(operator.mul, range(1, 11)), list(starmap(pow, [(2, 3), (3, 2)])))
print(list(map(partial(int, base=2), ["101", "11"])), list(compress("abcdef", cycle([1, 0]))))
a, b = tee(iter("xy"))
print(list(chain(a, b)), list(chain.from_iterable(["ab", "cd"])))
squares = (n * n for n in range(10) if n % 2)
print(sum(squares), sum(squares))
