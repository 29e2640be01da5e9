from decimal import Decimal, ROUND_HALF_UP, ROUND_HALF_EVEN, getcontext, localcontext
from fractions import Fraction

getcontext().prec = 28
CENT = Decimal("0.01")

expenses = await mcp__fixture__get_expenses(employee_id="E007", quarter="Q1")
rate = Decimal(str((await mcp__fixture__convert(1, "EUR", "USD"))["rate"]))

total = Decimal(0)
for x in expenses:
    amount = Decimal(str(x["amount"]))
    if x["currency"] == "EUR":
        amount = (amount * rate).quantize(CENT, rounding=ROUND_HALF_UP)
    total += amount
    print(f"{x['id']} {x['currency']} {x['amount']:>8.2f} -> {amount:>10}")

print("total:", total)
print("19% VAT:", (total * Decimal("0.19")).quantize(CENT))
print("split by 3:", [(total / 3).quantize(CENT)] * 2 + [total - 2 * (total / 3).quantize(CENT)])
print(Decimal("2.675").quantize(CENT, ROUND_HALF_UP), Decimal("2.665").quantize(CENT, ROUND_HALF_EVEN))
print(0.1 + 0.2 == 0.3, Decimal("0.1") + Decimal("0.2") == Decimal("0.3"))

with localcontext() as ctx:
    ctx.prec = 6
    print(Decimal(1) / Decimal(7))
print(Decimal("1E+3").normalize(), Decimal("-0.00"), Decimal("123.4500").normalize())

share = Fraction(3, 8) + Fraction("0.25")
print(share, share.numerator, float(share), Fraction(0.5), Fraction(22, 7).limit_denominator(3))
print(f"{Decimal('1234567.891'):,.2f}", round(Decimal("7.5")), Decimal("3.14").as_tuple())
