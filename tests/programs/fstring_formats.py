w = await mcp__fixture__weather(city="São Paulo")
city, temp = w["city"], w["temperature_c"]

print(f"{city=} {temp=:.2f}")
print(f"{city!r:>15}|{city!s:^15}|{city!a}")
width, precision = 12, 3
print(f"[{temp:{width}.{precision}f}] [{temp:<{width}}] [{temp:^+{width}.1f}] [{temp:*>{width}}]")
print(f"{1234567:,} {1234567:_} {255:#x} {255:08b} {255:#o} {-42:+d} {42:+d} {42: d}")
print(f"{0.000012345:.3e} {1e10:g} {0.25:.1%} {12345.678:,.1f} {float('inf')} {3.0} {1e16} {1e-5}")
print(f"{'yes' if temp > 20 else 'no'} {{literal}} {len(city) * 2 = }")
print("{0} {1} {0} {name:>6}".format("a", "b", name="c"))
print("{w[city]} / {w[humidity]:03d}".format(w=w))
print("%s is %5.1f and %-6d| %x %%" % (city, temp, w["humidity"], 255))
print("Hello {name}".format_map({"name": "map"}))
n = 2 ** 100
print(f"{n:,}", f"{n:e}", len(str(n)))
print(f"{True:d} {None!s:>6} {[1, 2]!r} {'x':-^9} {'long text':.4}")

from string import Template
print(Template("$who pays $$${amount}").substitute(who="Ana", amount=5))

multi = (
    f"{city} has "
    f"{w['humidity']}% humidity "
    "and {braces}"
)
print(multi)
