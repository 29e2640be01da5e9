# Who can stand in for whom: skills as sets
employees = await mcp__fixture__list_employees()
skills = {e["name"]: frozenset(e["skills"]) for e in employees}

all_skills = frozenset().union(*skills.values())
print(len(all_skills), sorted(all_skills))
print("in every engineer:", sorted(frozenset.intersection(*(skills[e["name"]] for e in employees if e["department"] == "Engineering" and e["level"] == "senior"))))

for name in sorted(skills):
    substitutes = sorted(other for other, s in skills.items() if other != name and s >= skills[name])
    if substitutes:
        print(f"{name}: {', '.join(substitutes)}")

index = {}
for name, known in skills.items():
    for skill in known:
        index.setdefault(skill, []).append(name)
rare = sorted(skill for skill, names in index.items() if len(names) == 1)
print("rare:", rare)

a, b = {1, 2, 3, 4}, {3, 4, 5}
print(a & b == {3, 4}, sorted(a | b), sorted(a - b), sorted(a ^ b), a.isdisjoint({9}), {1} < a)
a -= {1}
a.discard(99)
a.update([7, 8])
print(sorted(a), len(a), 7 in a)

d1, d2 = {"x": 1, "y": 2}, {"y": 20, "z": 30}
print(d1 | d2, d1.keys() & d2.keys(), dict(sorted((d1 | d2).items(), reverse=True)))
d1.update(d2, w=0)
print(d1.pop("x"), d1.pop("nope", None), list(d1), dict.fromkeys("abc", 0), list(reversed(d1)))
inverted = {v: k for k, v in d1.items()}
print(inverted, max(d1, key=d1.get), d1.setdefault("q", []), "q" in d1)
