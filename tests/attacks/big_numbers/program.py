# %% a tower of powers
9**9**9

# %% a power in a modulus
pow(3, 10**7, 10**200000 + 1)

# %% a shift
1 << 10**12

# %% a factorial
import math
math.factorial(10**8)

# %% a comb
import math
math.comb(10**7, 5 * 10**6)

# %% to text
import sys
sys.set_int_max_str_digits(0)
str(7 ** 10**7)
while True:
    str(7 ** 10**6)

# %% from text
import sys
sys.set_int_max_str_digits(0)
int("7" * 10**7)
while True:
    int("7" * 10**6)

# %% to text within the limit
str(10**5000)

# %% in a format
"%d" % 10**5000
f"{1:1000000000}"

# %% to a float
float(10**400)

# %% a decimal
from decimal import Decimal, getcontext
getcontext().prec = 10**9
Decimal(1) / Decimal(7)
while True:
    pass

# %% a fraction
from fractions import Fraction
total = Fraction(0)
for n in range(1, 10**9):
    total += Fraction(1, n)

# %% a hash
hash(2**(10**9) + 1)
while True:
    hash(2**(10**7) + 1)

# %% a product
x = 3
while True:
    x *= x

# %% a constant of the compiler
while True:
    compile("9**9**9", "x", "eval")
    eval("1 << 10**10")
