import ast
domains = {}
for row in ast.literal_eval(await mcp__sqlite__read_query(query="SELECT email FROM customers")):
    domain = row["email"].split("@")[-1]
    domains[domain] = domains.get(domain, 0) + 1
for domain, count in sorted(domains.items()):
    print(f"{domain}={count}")
