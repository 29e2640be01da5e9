import statistics as st
from collections import defaultdict

employees = await mcp__fixture__list_employees()
salaries = [e["salary"] for e in employees]

print(f"n        = {len(salaries)}")
print(f"mean     = {st.mean(salaries):,.2f}")
print(f"median   = {st.median(salaries):,}")
print(f"stdev    = {st.stdev(salaries):,.2f}")
print(f"quartile = {[round(q) for q in st.quantiles(salaries, n=4)]}")
print(f"hmean    = {st.harmonic_mean(salaries):.2f}")
print(f"mode     = {st.mode(e['department'] for e in employees)}")

groups = defaultdict(list)
for e in employees:
    groups[e["level"]].append(e["salary"])

for level, values in sorted(groups.items(), key=lambda g: st.mean(g[1])):
    spread = st.pstdev(values) if len(values) > 1 else 0
    print(f"{level:>10}: mean {st.fmean(values):>10.1f} spread {spread:>9.1f} n={len(values)}")

try:
    st.mean([])
except st.StatisticsError as e:
    print("empty:", type(e).__name__)

years = [int(e["hired"][:4]) for e in employees]
slope, intercept = st.linear_regression(years, salaries)
print(f"slope {slope:.1f} per year, correlation {st.correlation(years, salaries):.4f}")
