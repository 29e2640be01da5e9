#%% hello
print("hello")

#%% several_arguments
print("a", 1, None, [1, "x"], {"k": 1.5})

#%% separator_and_end
print("a", "b", sep="-", end="!\n")

#%% no_newline_at_the_end
print("open", end="")

#%% empty_print
#% better: what was printed comes back as it is
print()

#%% only_spaces
#% better: what was printed comes back as it is
print("   ")

#%% blank_lines_around
print("\n\ntext\n\n")

#%% no_print
x = 1

#%% standard_error_is_not_output
import sys
print("error", file=sys.stderr)
print("output")

#%% only_standard_error
import sys
print("error", file=sys.stderr)

#%% stdout_write
import sys
sys.stdout.write("written\n")
sys.stdout.flush()

#%% stdout_writelines
import sys
sys.stdout.writelines(["a\n", "b\n"])

#%% print_to_stdout_by_name
import sys
print("named", file=sys.stdout, flush=True)

#%% pprint
from pprint import pprint
pprint({"b": [1, 2], "a": {"x": None}})

#%% pprint_of_a_wide_structure
from pprint import pprint
pprint(await mcp__kit__orders(size=3))

#%% pformat
import pprint
print(pprint.pformat(list(range(40)), width=40))

#%% unicode
print("äöü ß € 日本 🎉 \u200d")

#%% escapes
print("tab\there", repr("new\nline"), ascii("é"))

#%% f_strings
value, name = 3.14159, "pi"
print(f"{name}={value:.2f} {value!r:>10} {name:_^8} {10**6:,} {255:#x} {0.256:.1%} {name=}")

#%% percent_and_format
print("%s %05.1f %-5s|" % ("a", 2.5, "b"), "{:>4}|{:<4}|{k}".format(1, 2, k="v"))

#%% table
for name, qty in [("apple", 3), ("pear", 12)]:
    print(f"{name:<10}{qty:>5}")

#%% markdown_table
rows = await mcp__kit__orders(size=2)
print("| id | amount |\n|---|---|")
for row in rows:
    print(f"| {row['id']} | {row['amount']} |")

#%% json_output
import json
print(json.dumps({"ok": True, "items": [1, None]}, indent=2))

#%% redirect_stdout
import contextlib, io
buffer = io.StringIO()
with contextlib.redirect_stdout(buffer):
    print("hidden")
print(repr(buffer.getvalue()))

#%% print_in_a_thread
import threading
thread = threading.Thread(target=print, args=("from a thread",))
thread.start()
thread.join()

#%% print_in_a_task
import asyncio
async def say(text):
    print(text)
await asyncio.gather(say("one"), say("two"))

#%% five_hundred_short_lines
for n in range(500):
    print(n)

#%% carriage_return
print("50%\r100%")

#%% null_character
print("a\0b")

#%% ansi_colours
print("\033[31mred\033[0m")

#%% lone_surrogate_in_output
print("\ud800".encode("utf-8", "replace").decode())

#%% bytes_output
import sys
print(b"raw")

#%% buffer_of_stdout
#% better: the output takes bytes as that of any script does
import sys
try:
    sys.stdout.buffer.write(b"raw\n")
except AttributeError:
    print("no buffer")

#%% stdout_is_no_terminal
import sys
print(sys.stdout.isatty())

#%% logging_goes_to_standard_error
import logging
logging.basicConfig(level=logging.INFO)
logging.info("noted")
print("output")

#%% logging_to_stdout
import logging, sys
handler = logging.StreamHandler(sys.stdout)
logger = logging.getLogger("own")
logger.addHandler(handler)
logger.warning("careful")

#%% output_that_looks_like_a_status
print("[Script execution failed]")

#%% print_of_a_tool
print(mcp__kit__add.__name__, type(mcp__kit__add).__name__)

#%% print_of_a_set_and_a_tuple
print({1}, (1,), frozenset(), range(3), slice(1, 2))

#%% floats
print(0.1 + 0.2, 1e16, 1e-5, 100.0, float("inf"), -0.0, round(2.675, 2))

#%% print_returns_none
print(print("inner"))

#%% help_of_a_function
def documented():
    """Explains itself."""
print(documented.__doc__)

#%% tabulated_totals
rows = await mcp__kit__orders()
width = max(len(str(row["id"])) for row in rows)
for row in rows[:2]:
    print(str(row["id"]).rjust(width), f"{row['amount']:8.2f}")
