# servers: files, sqlite, everything
# A CSV file goes into a database, what it adds up to into a report; a third server checks the sum.
import ast, csv, io

root = (await mcp__files__list_allowed_directories())["content"].splitlines()[1]
rows = [{"id": n, "customer": f"Müller & Söhne {n % 4}", "cents": n * n % 9973} for n in range(1, 501)]
table = io.StringIO()
writer = csv.DictWriter(table, rows[0], lineterminator="\n")
writer.writeheader()
writer.writerows(rows)
await mcp__files__write_file(path=f"{root}/orders.csv", content=table.getvalue())

stored = (await mcp__files__read_text_file(path=f"{root}/orders.csv"))["content"]
await mcp__sqlite__create_table(query="CREATE TABLE orders (id INTEGER, customer TEXT, cents INTEGER)")
values = ", ".join(
    f"({row['id']}, '{row['customer']}', {row['cents']})" for row in csv.DictReader(io.StringIO(stored))
)
print(await mcp__sqlite__write_query(query=f"INSERT INTO orders VALUES {values}"))

sums = ast.literal_eval(await mcp__sqlite__read_query(
    query="SELECT customer, sum(cents) AS cents FROM orders GROUP BY customer ORDER BY cents DESC"
))
for row in sums:
    print(f"{row['customer']}: {row['cents'] / 100:.2f}")

total = 0
for row in sums:
    answer = await mcp__everything__get_sum(a=total, b=row["cents"])
    total = int(answer.removesuffix(".").split()[-1])
print(total == sum(row["cents"] for row in rows), total)

report = "".join(f"| {row['customer']} | {row['cents']} |\n" for row in sums)
await mcp__files__write_file(path=f"{root}/sums.md", content=report)
listing = (await mcp__files__list_directory(path=root))["content"]
print(*sorted(listing.splitlines()), sep="\n")
