#%% keyword_arguments
print(await mcp__kit__greet(name="Ada", greeting="Hi"))

#%% default_argument
print(await mcp__kit__greet(name="Ada"))

#%% unpacked_dictionary
print(await mcp__kit__greet(**{"name": "Ada"}))

#%% positional_arguments
#% better: arguments can go by position
print(await mcp__kit__add(1, 2))

#%% positional_and_keyword
#% better: arguments can go by position
print(await mcp__kit__add(1, b=2))

#%% one_dictionary
#% better: arguments can go as one dictionary
print(await mcp__kit__add({"a": 1, "b": 2}))

#%% missing_argument
#% better: it is found before anything runs, and the error shows the signature
await mcp__kit__add(a=1)

#%% missing_argument_caught
try:
    await mcp__kit__add(a=1)
except Exception as error:
    print(type(error).__name__)

#%% unknown_argument
print(await mcp__kit__greet(name="Ada", tone="loud"))

#%% unknown_argument_beside_defaults
print(await mcp__kit__choose(speed="fast"))

#%% wrong_type
#% better: it is found before anything runs, and the error shows the signature
await mcp__kit__add(a="one", b=2)

#%% wrong_type_caught
try:
    await mcp__kit__add(a="one", b=2)
except Exception as error:
    print(type(error).__name__)

#%% number_in_text_for_an_integer
print(await mcp__kit__add(a="3", b=4))

#%% number_in_text_from_a_variable
quantity = "3"
print(await mcp__kit__add(a=quantity, b=4))

#%% number_in_text_for_a_float
print(await mcp__kit__divide(a="1", b="4"))

#%% whole_float_for_an_integer
print(await mcp__kit__add(a=3.0, b=4))

#%% fraction_for_an_integer
try:
    print(await mcp__kit__add(a=3.5, b=4))
except Exception as error:
    print(type(error).__name__)

#%% boolean_for_an_integer
print(await mcp__kit__add(a=True, b=1))

#%% text_for_a_boolean
print(await mcp__kit__register(customer={"id": 1, "name": "Ada"}, notify="true"))

#%% integer_for_a_boolean
print(await mcp__kit__register(customer={"id": 1, "name": "Ada"}, notify=1))

#%% integer_for_text
try:
    print(await mcp__kit__greet(name=5))
except Exception as error:
    print(type(error).__name__)

#%% none_for_an_optional_argument
print(await mcp__kit__tag(item="pen", tags=None, limit=None))

#%% none_for_an_argument_with_a_default
#% better: None leaves an optional argument out
try:
    print(await mcp__kit__greet(name="Ada", greeting=None))
except Exception as error:
    print(type(error).__name__)

#%% optional_argument_given
print(await mcp__kit__tag(item="pen", tags=["a", "b"], limit=3))

#%% date
import datetime
print(await mcp__kit__schedule(day=datetime.date(2024, 2, 29)))

#%% date_as_text
print(await mcp__kit__schedule(day="2024-02-29"))

#%% time
import datetime
print(await mcp__kit__schedule(day="2024-02-29", time=datetime.time(12, 30)))

#%% datetime
import datetime
print(await mcp__kit__remind(at=datetime.datetime(2024, 2, 29, 12, 30)))

#%% datetime_with_a_zone
import datetime
print(await mcp__kit__remind(at=datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)))

#%% duration
import datetime
print(await mcp__kit__remind(at="2024-02-29T12:30:00", wait=datetime.timedelta(minutes=90)))

#%% decimal
from decimal import Decimal
print(await mcp__kit__pay(amount=Decimal("19.90")))

#%% decimal_as_text
print(await mcp__kit__pay(amount="19.90"))

#%% decimal_for_a_float
from decimal import Decimal
print(await mcp__kit__divide(a=Decimal("1.5"), b=3))

#%% fraction_argument
from fractions import Fraction
try:
    print(await mcp__kit__divide(a=float(Fraction(1, 2)), b=1))
except Exception as error:
    print(type(error).__name__)

#%% path
from pathlib import Path
print(await mcp__kit__open_path(path=Path("/data") / "a.txt"))

#%% uuid
import uuid
print(await mcp__kit__lookup(key=uuid.UUID("12345678-1234-5678-1234-567812345678")))

#%% enumeration_member
from enum import Enum
class Level(Enum):
    HIGH = "high"
print(await mcp__kit__set_level(level=Level.HIGH))

#%% text_enumeration_member
from enum import Enum
class Level(str, Enum):
    LOW = "low"
print(await mcp__kit__set_level(level=Level.LOW))

#%% strenum_member
from enum import StrEnum
class Level(StrEnum):
    LOW = "low"
print(await mcp__kit__set_level(level=Level.LOW))

#%% integer_enumeration_member
from enum import IntEnum
class Size(IntEnum):
    BIG = 3
print(await mcp__kit__add(a=Size.BIG, b=1))

#%% enumeration_value_as_text
print(await mcp__kit__set_level(level="high"))

#%% wrong_enumeration_value
try:
    await mcp__kit__set_level(level="middle")
except Exception as error:
    print(type(error).__name__)

#%% literal
print(await mcp__kit__choose(mode="slow"))

#%% dataclass
from dataclasses import dataclass
@dataclass
class Customer:
    id: int
    name: str
print(await mcp__kit__register(customer=Customer(1, "Ada")))

#%% nested_dataclass
from dataclasses import dataclass
@dataclass
class Address:
    street: str
    city: str
@dataclass
class Customer:
    id: int
    name: str
    address: Address
print(await mcp__kit__register(customer=Customer(1, "Ada", Address("Lane 1", "London"))))

#%% nested_dictionary
print(await mcp__kit__register(customer={"id": 1, "name": "Ada", "address": {"street": "Lane 1"}}, notify=True))

#%% json_text_for_an_object
import json
print(await mcp__kit__register(customer=json.dumps({"id": 1, "name": "Ada"})))

#%% json_text_for_a_list
print(await mcp__kit__total(values="[1, 2, 3]"))

#%% named_tuple
from typing import NamedTuple
class Point(NamedTuple):
    x: int
    y: int
print(await mcp__kit__show(value=Point(1, 2)))

#%% tuple
print(await mcp__kit__total(values=(1, 2, 3)))

#%% set
print(await mcp__kit__total(values={1, 2, 3}))

#%% frozenset
print(await mcp__kit__total(values=frozenset([1, 2])))

#%% deque
from collections import deque
print(await mcp__kit__total(values=deque([1, 2])))

#%% generator
print(await mcp__kit__total(values=(n * n for n in range(4))))

#%% map_object
print(await mcp__kit__join(words=list(map(str, [1, 2]))))

#%% range
#% better: a range is a sequence like any other
try:
    print(await mcp__kit__total(values=range(4)))
except Exception as error:
    print(type(error).__name__)

#%% dictionary_keys
#% better: the keys of a dictionary are a sequence like any other
scores = {"a": 1, "b": 2}
try:
    print(await mcp__kit__join(words=scores.keys()))
except Exception as error:
    print(type(error).__name__)

#%% dictionary_values
#% better: the values of a dictionary are a sequence like any other
scores = {"a": 1, "b": 2}
try:
    print(await mcp__kit__total(values=scores.values()))
except Exception as error:
    print(type(error).__name__)

#%% list_of_dates
import datetime
print(await mcp__kit__show(value=[datetime.date(2024, 1, day) for day in (1, 2)]))

#%% bytes
print(await mcp__kit__upload(data=b"abc"))

#%% bytearray
try:
    print(await mcp__kit__show(value=bytearray(b"abc")))
except Exception as error:
    print(type(error).__name__)

#%% integer_keys
print(await mcp__kit__count_keys(mapping={1: 10, 2: 20}))

#%% mixed_keys
print(await mcp__kit__show(value={1: "a", 2.5: "b", "c": None}))

#%% boolean_and_none_keys
#% better: a key is written as json.dumps writes it
print(await mcp__kit__show(value={True: 1, None: 2}))

#%% date_keys
import datetime
print(await mcp__kit__show(value={datetime.date(2024, 1, 1): 1}))

#%% tuple_keys
#% better: a key that JSON has no form for is an error, as from json.dumps, and not a text that two keys could share
print(await mcp__kit__show(value={(1, 2): 3}))

#%% counter
from collections import Counter
print(await mcp__kit__count_keys(mapping=Counter("aab")))

#%% default_dictionary
from collections import defaultdict
groups = defaultdict(list)
groups["a"].append(1)
print(await mcp__kit__show(value=groups))

#%% ordered_dictionary
from collections import OrderedDict
print(await mcp__kit__show(value=OrderedDict(b=1, a=2)))

#%% object_with_model_dump
#% better: a model is sent as what it dumps
class Model:
    def model_dump(self, **options):
        return {"id": 1, "name": "Ada"}
try:
    print(await mcp__kit__register(customer=Model()))
except Exception as error:
    print(type(error).__name__)

#%% plain_object
#% better: it is an error of the program's own data, as from json.dumps, and nothing is sent
class Thing:
    pass
try:
    await mcp__kit__show(value=Thing())
except Exception as error:
    print(type(error).__name__)

#%% function_as_argument
#% better: it is an error of the program's own data, as from json.dumps, and nothing is sent
try:
    await mcp__kit__show(value=len)
except Exception as error:
    print(type(error).__name__)

#%% complex_number
#% better: JSON has no complex numbers, and an error is safer than a text that few servers read
try:
    print(await mcp__kit__show(value=1 + 2j))
except Exception as error:
    print(type(error).__name__)

#%% not_a_number
#% better: JSON has no such number, and an error is safer than null in its place
try:
    print(await mcp__kit__show(value=float("nan")))
except Exception as error:
    print(type(error).__name__)

#%% not_a_number_for_a_float
#% better: JSON has no such number; the error names the argument and nothing is sent
try:
    print(await mcp__kit__divide(a=float("nan"), b=1))
except Exception as error:
    print(type(error).__name__)

#%% infinity_in_a_list
#% better: JSON has no such number; the error names the argument and nothing is sent
try:
    print(await mcp__kit__total(values=[1, float("inf")]))
except Exception as error:
    print(type(error).__name__)

#%% large_integer
print(await mcp__kit__show(value=2**70))

#%% negative_zero_and_exponents
print(await mcp__kit__show(value=[-0.0, 1e100, 1e-7, 0.1 + 0.2]))

#%% unicode_text
print(await mcp__kit__greet(name="Zoë 🎉 日本"))

#%% escapes_in_text
print(await mcp__kit__show(value='a"b\\c\n\t\u0000'))

#%% lone_surrogate
#% better: the program gets an error, and the server lives
try:
    print(len(await mcp__kit__show(value="\ud800")))
except Exception as error:
    print(type(error).__name__)

#%% long_text
print(len(await mcp__kit__greet(name="x" * 100000)))

#%% deeply_nested
value = []
for _ in range(50):
    value = [value]
print(len(await mcp__kit__show(value=value)))

#%% circular_structure
#% better: it is an error of the program's own data, as from json.dumps, and nothing is sent
value = []
value.append(value)
try:
    await mcp__kit__show(value=value)
except Exception as error:
    print(type(error).__name__)

#%% union_with_an_integer
print(await mcp__kit__either(value=5))

#%% union_with_text
print(await mcp__kit__either(value="5"))

#%% out_of_bounds
try:
    await mcp__kit__bounded(number=11)
except Exception as error:
    print(type(error).__name__)

#%% list_of_numbers_in_text
print(await mcp__kit__total(values=["1", "2.5"]))

#%% list_of_integers_for_texts
try:
    print(await mcp__kit__join(words=[1, 2]))
except Exception as error:
    print(type(error).__name__)

#%% one_text_for_a_list
try:
    print(await mcp__kit__join(words="one"))
except Exception as error:
    print(type(error).__name__)

#%% result_of_one_tool_as_argument
customer = await mcp__kit__customer(id=1)
print(await mcp__kit__register(customer=customer))

#%% result_number_as_text_argument
total = await mcp__kit__add(a=1, b=2)
print(await mcp__kit__greet(name=str(total)))

#%% argument_named_value_is_none
print(await mcp__kit__show(value=None))

#%% several_untyped_arguments
print(await mcp__kit__show_all(a=1, c=[None, {"x": None}]))

#%% camel_case_argument
print(await mcp__kit__camelCase(someValue=3))

#%% open_keywords
print(await mcp__kit__keywords(kwargs={"a": 1}))

#%% number_for_an_untyped_parameter
print(await mcp__kit__untyped(first=1))

#%% number_from_a_variable_for_an_untyped_parameter
for number in range(2):
    print(await mcp__kit__untyped(first=number, second=number / 2))

#%% list_for_an_untyped_parameter
print(await mcp__kit__untyped(first=[1, 2], second={"a": None}))

#%% none_for_an_untyped_parameter
print(await mcp__kit__untyped(first="x", second=None))

#%% numpy_like_scalar
class Scalar:
    def __init__(self, value):
        self.value = value
    def __int__(self):
        return self.value
    def item(self):
        return self.value
print(await mcp__kit__add(a=int(Scalar(3)), b=1))

#%% string_subclass
class Name(str):
    pass
print(await mcp__kit__greet(name=Name("Ada")))

#%% integer_subclass
class Count(int):
    pass
print(await mcp__kit__add(a=Count(2), b=1))

#%% list_subclass
class Values(list):
    pass
print(await mcp__kit__total(values=Values([1, 2])))

#%% regular_expression
#% better: an error is safer than a pattern without its flags
import re
try:
    print(await mcp__kit__show(value=re.compile("a+")))
except Exception as error:
    print(type(error).__name__)

#%% ip_address
import ipaddress
print(await mcp__kit__show(value=ipaddress.ip_address("127.0.0.1")))

#%% simple_namespace
#% better: a namespace is sent as its attributes
import types
try:
    print(await mcp__kit__show(value=types.SimpleNamespace(a=1)))
except Exception as error:
    print(type(error).__name__)

#%% mapping_proxy
#% better: a view of a dictionary is sent as a dictionary
import types
try:
    print(await mcp__kit__show(value=types.MappingProxyType({"a": 1})))
except Exception as error:
    print(type(error).__name__)
