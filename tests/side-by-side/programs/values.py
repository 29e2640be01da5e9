#%% integer
value = await mcp__kit__add(a=1, b=2)
print(type(value).__name__, value)

#%% float
value = await mcp__kit__divide(a=1, b=4)
print(type(value).__name__, value)

#%% whole_float
value = await mcp__kit__divide(a=4, b=2)
print(type(value).__name__, value)

#%% boolean
value = await mcp__kit__is_even(number=2)
print(type(value).__name__, value, value is True)

#%% text
print(repr(await mcp__kit__greet(name="Ada")))

#%% none
print(await mcp__kit__nothing())

#%% list_of_text
#% better: the value is the list that the tool declares
print(await mcp__kit__names())

#%% loop_over_a_list_of_text
#% better: the value is the list that the tool declares
for name in await mcp__kit__names():
    print(name)

#%% list_of_one_text
#% better: a list of one is a list
print(await mcp__kit__one_name())

#%% empty_list
#% better: an empty list is a list
print(await mcp__kit__no_names())

#%% list_of_integers
#% better: the value is the list that the tool declares
print(await mcp__kit__numbers())

#%% list_of_one_integer
#% better: a list of one is a list
print(await mcp__kit__numbers(count=1))

#%% sum_of_integers
#% better: the value is the list that the tool declares
print(sum(await mcp__kit__numbers(count=4)))

#%% list_with_none
#% better: the value is the list that the tool declares
print(await mcp__kit__gaps())

#%% nested_list
#% better: the value is the list that the tool declares
print(await mcp__kit__matrix())

#%% nested_list_of_one
#% better: the value is the list that the tool declares
print(await mcp__kit__one_row())

#%% tuple
#% better: the value is the list that the tool declares
print(await mcp__kit__pair())

#%% set
print(await mcp__kit__letters())

#%% text_that_looks_like_a_number
#% better: the tool declares text, and text it is whatever it looks like
value = await mcp__kit__digits()
print(type(value).__name__, value)

#%% text_with_a_leading_zero
value = await mcp__kit__zip_code()
print(type(value).__name__, value)

#%% text_that_is_json
#% better: the tool declares text, and text it is whatever it looks like
value = await mcp__kit__json_text()
print(type(value).__name__, value)

#%% json_text_loaded
#% better: the tool declares text, and text it is whatever it looks like
import json
print(json.loads(await mcp__kit__json_text())["a"])

#%% json_text_used_as_data
#% better: the tool declares text, and text it is whatever it looks like
print((await mcp__kit__json_text())["a"])

#%% report_in_json_text_used_as_data
#% better: the tool declares text, and text it is whatever it looks like
for row in (await mcp__kit__report())["rows"]:
    print(row["id"])

#%% report_in_json_text_loaded
import json
report = await mcp__kit__report()
if isinstance(report, str):
    report = json.loads(report)
print([row["id"] for row in report["rows"]])

#%% text_null
#% better: the tool declares text, and text it is whatever it looks like
print(repr(await mcp__kit__word_null()))

#%% empty_text
print(repr(await mcp__kit__empty_text()))

#%% text_of_several_lines
print((await mcp__kit__several_lines()).splitlines())

#%% dictionary
print(await mcp__kit__settings())

#%% nested_access
settings = await mcp__kit__settings()
print(settings["nested"]["on"], settings["nested"]["off"], settings["sizes"][1])

#%% dictionary_of_integers
print(sorted((await mcp__kit__scores()).items()))

#%% dictionary_with_integer_keys
print(await mcp__kit__by_number())

#%% typed_dictionary
print(await mcp__kit__totals())

#%% dataclass
print(await mcp__kit__origin())

#%% model
customer = await mcp__kit__customer(id=1)
print(type(customer).__name__, customer["name"], customer["address"]["city"])

#%% model_with_an_empty_field
print((await mcp__kit__customer(id=2))["address"])

#%% optional_model_found
customer = await mcp__kit__find_customer(name="Ada")
print(customer["id"])

#%% optional_model_not_found
print(await mcp__kit__find_customer(name="Zed"))

#%% list_of_models
#% better: the value is the list that the tool declares
customers = await mcp__kit__customers()
print([customer["name"] for customer in customers])

#%% object_with_a_field_named_result
print(await mcp__kit__own_result())

#%% enumeration
print(await mcp__kit__level())

#%% date
print(repr(await mcp__kit__today()))

#%% date_parsed
from datetime import date
print(date.fromisoformat(await mcp__kit__today()).year)

#%% datetime
print(repr(await mcp__kit__moment()))

#%% decimal
value = await mcp__kit__price()
print(repr(value))

#%% decimal_of_str
from decimal import Decimal
print(Decimal(str(await mcp__kit__price())))

#%% large_integer
print(await mcp__kit__large(), await mcp__kit__large() == 2**63)

#%% any
print(await mcp__kit__anything())

#%% untyped_json_text
rows = await mcp__kit__orders(size=2)
print(type(rows).__name__, rows)

#%% untyped_json_text_of_an_empty_list
print(await mcp__kit__orders(page=99))

#%% untyped_dictionary
page = await mcp__kit__order_page()
print(sorted(page), page["next"])

#%% untyped_list
print(await mcp__kit__plain_list())

#%% untyped_none
print(await mcp__kit__plain_none())

#%% untyped_text
print(await mcp__kit__sentence())

#%% untyped_csv
import csv, io
print(list(csv.DictReader(io.StringIO(await mcp__kit__csv_text()))))

#%% not_a_number_in_json
value = await mcp__kit__not_a_number()
print(type(value).__name__, value["mean"] != value["mean"], value["top"], value["bottom"])

#%% broken_json_stays_text
print(repr(await mcp__kit__broken_json()))

#%% two_texts
print(repr(await mcp__kit__two_texts()))

#%% picture
#% better: the picture is there
picture = await mcp__kit__picture()
print(picture["mimeType"] if picture else "nothing")

#%% picture_with_a_caption
print(repr(await mcp__kit__captioned_picture()))

#%% caption_as_text
caption = await mcp__kit__captioned_picture()
print(caption.upper())

#%% picture_with_json
print((await mcp__kit__data_and_picture())["width"])

#%% sound
#% better: the sound is there
sound = await mcp__kit__sound()
print(sound["mimeType"] if sound else "nothing")

#%% text_resource
#% better: the resource is there
memo = await mcp__kit__text_resource()
print(memo["resource"]["text"] if memo else "nothing")

#%% text_and_resource
print(repr(await mcp__kit__text_and_resource()))

#%% resource_link
#% better: the link is there
link = await mcp__kit__link()
print(link["uri"] if link else "nothing")

#%% json_dumps_of_a_result
import json
print(json.dumps(await mcp__kit__settings(), sort_keys=True))

#%% pretty_json_of_a_result
import json
print(json.dumps(await mcp__kit__customer(id=3), indent=2, ensure_ascii=False))

#%% result_is_a_plain_dict
value = await mcp__kit__settings()
print(type(value) is dict, isinstance(value, dict), list(value))

#%% result_is_a_plain_list
value = await mcp__kit__orders(size=1)
print(type(value) is list, value[0]["id"])

#%% result_can_be_changed
value = await mcp__kit__settings()
value["theme"] = "light"
value["nested"].update(extra=1)
print(value["theme"], value["nested"])

#%% results_are_not_shared
first = await mcp__kit__settings()
first["theme"] = "changed"
print((await mcp__kit__settings())["theme"])

#%% copy_and_pickle_of_a_result
import copy, pickle
value = await mcp__kit__settings()
print(copy.deepcopy(value) == value, pickle.loads(pickle.dumps(value)) == value)

#%% get_with_default
print((await mcp__kit__settings()).get("absent", "default"))

#%% missing_key_of_a_result
print((await mcp__kit__settings())["absent"])

#%% length_of_a_result
print(len(await mcp__kit__orders()))

#%% isinstance_checks
for value in (await mcp__kit__add(a=1, b=1), await mcp__kit__sentence(), await mcp__kit__orders(size=1)):
    print(isinstance(value, int), isinstance(value, str), isinstance(value, list))

#%% program_that_accepts_text_or_data
import json
rows = await mcp__kit__orders(size=2)
if isinstance(rows, str):
    rows = json.loads(rows)
print([row["id"] for row in rows])

#%% key_result_of_a_wrapped_value
value = await mcp__kit__add(a=1, b=2)
print(value["result"] if isinstance(value, dict) else value)

#%% unicode_result
print((await mcp__kit__customer(id=3))["name"])
