# Sampling with a fixed seed gives the same tickets every time
import random

rng = random.Random(42)
print([rng.randint(1, 100) for _ in range(8)])
print(f"{rng.random():.12f} {rng.uniform(10, 20):.9f} {rng.gauss(0, 1):.9f}")

ids = [t["id"] for t in (await mcp__fixture__search_tickets(query="", limit=50))["tickets"]]
print(rng.sample(ids, 5))
print(rng.choice(ids), rng.choices("abc", weights=[1, 5, 2], k=6))
deck = list(range(10))
rng.shuffle(deck)
print(deck)

random.seed("text seed")
print(random.randrange(10**12), random.getrandbits(64))

# Monte Carlo estimate
random.seed(7)
inside = sum(random.random() ** 2 + random.random() ** 2 <= 1 for _ in range(20000))
print(f"pi is about {4 * inside / 20000:.4f}")
