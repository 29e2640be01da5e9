#%% json_round_trip
import json
print(json.loads(json.dumps({"a": [1, 2.5, None, True]})))

#%% json_default_and_sort
import json, datetime
print(json.dumps({"b": datetime.date(2024, 1, 2), "a": {1}}, default=lambda v: sorted(v) if isinstance(v, set) else str(v), sort_keys=True))

#%% regular_expressions
import re
print(re.findall(r"\b(\w)(\w*)\b", "one two"), re.sub(r"\d+", lambda m: str(int(m[0]) * 2), "a1b22"))

#%% named_groups
import re
print(re.match(r"(?P<year>\d{4})-(?P<month>\d\d)", "2024-02-29").groupdict())

#%% datetime_arithmetic
from datetime import date, datetime, timedelta, timezone
print(date(2024, 2, 28) + timedelta(days=2), datetime(2024, 1, 1, tzinfo=timezone.utc).isoformat())

#%% strptime_and_strftime
from datetime import datetime
print(datetime.strptime("29/02/2024 12:30", "%d/%m/%Y %H:%M").strftime("%A %d %B %Y"))

#%% zone_info
from datetime import datetime
from zoneinfo import ZoneInfo
print(datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")).isoformat())

#%% time_functions
import time
start = time.perf_counter()
time.sleep(0.01)
print(time.perf_counter() > start, time.strftime("%Y", time.gmtime(0)))

#%% calendar
import calendar
print(calendar.monthrange(2024, 2)[1], calendar.isleap(2024))

#%% counter
from collections import Counter
print(Counter(row["region"] for row in await mcp__kit__orders()).most_common())

#%% default_dictionary
from collections import defaultdict
groups = defaultdict(list)
for row in await mcp__kit__orders():
    groups[row["customer"]].append(row["id"])
print(dict(groups))

#%% ordered_and_chained
from collections import ChainMap, OrderedDict, deque
print(list(OrderedDict(a=1)), ChainMap({"a": 1}, {"b": 2})["b"], deque([1, 2, 3], maxlen=2))

#%% itertools
import itertools
rows = sorted(await mcp__kit__orders(size=6), key=lambda row: row["region"])
print({key: len(list(group)) for key, group in itertools.groupby(rows, key=lambda row: row["region"])})
print(list(itertools.islice(itertools.count(5), 3)), list(itertools.combinations("abc", 2)))

#%% functools
import functools
print(functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]))
@functools.lru_cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
print(fibonacci(50))

#%% statistics
import statistics
amounts = [row["amount"] for row in await mcp__kit__orders()]
print(statistics.mean(amounts), statistics.median(amounts), round(statistics.stdev(amounts), 4))

#%% math
import math
print(math.sqrt(2), math.floor(-1.5), math.comb(5, 2), math.isclose(0.1 + 0.2, 0.3), math.prod([2, 3]))

#%% seeded_random
import random
random.seed(7)
print(random.randint(1, 100), random.choice("abc"), random.sample(range(10), 3))

#%% decimal
from decimal import Decimal, ROUND_HALF_UP
print(Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP), sum([Decimal("0.1")] * 3))

#%% fractions
from fractions import Fraction
print(Fraction(1, 3) + Fraction(1, 6))

#%% csv_reading
import csv, io
rows = list(csv.DictReader(io.StringIO(await mcp__kit__csv_text())))
print(sum(int(row["qty"]) for row in rows))

#%% csv_writing
import csv, io
buffer = io.StringIO()
writer = csv.writer(buffer)
writer.writerow(["a", "b,c"])
writer.writerow([1, 'say "x"'])
print(buffer.getvalue())

#%% string_tools
import string, textwrap
print(string.ascii_lowercase[:3], textwrap.fill("one two three", 7).splitlines(), textwrap.dedent("  a\n   b"))

#%% difflib
import difflib
print(difflib.get_close_matches("appel", ["ape", "apple", "peach"]), list(difflib.unified_diff(["a"], ["b"], lineterm=""))[-2:])

#%% hashing
import hashlib, base64, hmac
print(hashlib.sha256(b"x").hexdigest()[:12], hashlib.md5(b"x").hexdigest()[:12], base64.b64encode(b"hi").decode())
print(hmac.new(b"k", b"m", "sha256").hexdigest()[:12])

#%% uuid
import uuid
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"), len(str(uuid.uuid4())))

#%% urls
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlparse
print(urlparse("https://a.example/b?c=1").netloc, parse_qs("a=1&a=2"), urlencode({"q": "a b"}), quote("ä/"), urljoin("http://a/b/", "c"))

#%% html
import html
from html.parser import HTMLParser
class Titles(HTMLParser):
    def handle_data(self, data):
        print("text:", data)
Titles().feed("<h1>Big</h1>")
print(html.unescape("&lt;&amp;"), html.escape("<a>"))

#%% xml
import xml.etree.ElementTree as ElementTree
root = ElementTree.fromstring("<r><i n='1'>a</i><i n='2'>b</i></r>")
print([(item.get("n"), item.text) for item in root.findall("i")])

#%% minidom
from xml.dom import minidom
print(minidom.parseString("<a><b/></a>").documentElement.tagName)

#%% sqlite
import sqlite3
database = sqlite3.connect(":memory:")
database.execute("create table t (n integer)")
database.executemany("insert into t values (?)", [(1,), (2,)])
print(database.execute("select sum(n) from t").fetchone())

#%% ssl_context
import ssl
print(ssl.create_default_context().verify_mode.name)

#%% compression
import gzip, zlib
print(gzip.decompress(gzip.compress(b"data")), zlib.decompress(zlib.compress(b"more")))

#%% bz2_and_lzma
import bz2, lzma
print(bz2.decompress(bz2.compress(b"data")), lzma.decompress(lzma.compress(b"more")))

#%% zip_file_in_memory
import io, zipfile
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as archive:
    archive.writestr("a.txt", "hello")
print(zipfile.ZipFile(buffer).namelist())

#%% tar_file_in_memory
import io, tarfile
buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w") as archive:
    entry = tarfile.TarInfo("a.txt")
    entry.size = 2
    archive.addfile(entry, io.BytesIO(b"hi"))
buffer.seek(0)
print(tarfile.open(fileobj=buffer).getnames())

#%% pickle
import pickle
print(pickle.loads(pickle.dumps({"a": (1, {2})})))

#%% struct_and_array
import array, struct
print(struct.pack(">HI", 1, 2).hex(), array.array("i", [1, 2]).tolist())

#%% heap_and_bisect
import bisect, heapq
print(heapq.nlargest(2, [3, 1, 2]), bisect.bisect([1, 2, 4], 3))

#%% operator
import operator
print(sorted([{"n": 2}, {"n": 1}], key=operator.itemgetter("n")))

#%% copy
import copy
original = {"a": [1]}
clone = copy.deepcopy(original)
clone["a"].append(2)
print(original, clone)

#%% typing_classes
from typing import NamedTuple, Protocol, TypedDict
class Row(TypedDict):
    id: int
class Pair(NamedTuple):
    a: int
    b: int = 2
class Named(Protocol):
    name: str
print(Row(id=1), Pair(1))

#%% abstract_classes
import abc
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
class Square(Shape):
    def area(self):
        return 4
print(Square().area())

#%% enum_flags
import enum
class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
print((Access.READ | Access.WRITE).value, enum.IntEnum("Size", "S M").M.value)

#%% inspect_signature
import inspect
def f(a, b=1, *, c): ...
print(inspect.signature(f))

#%% abstract_syntax_tree
import ast
print(ast.literal_eval("[1, {'a': None}]"), type(ast.parse("1 + 1").body[0]).__name__)

#%% tokenize_and_keyword
import keyword, tokenize, io
print(keyword.iskeyword("await"), len(list(tokenize.generate_tokens(io.StringIO("a = 1\n").readline))))

#%% locale_free_text
import unicodedata
print(unicodedata.normalize("NFKD", "é").encode("ascii", "ignore"), unicodedata.name("ß"), "STRASSE".casefold())

#%% configuration_formats
import configparser, tomllib
parser = configparser.ConfigParser()
parser.read_string("[a]\nb = 1\n")
print(parser["a"]["b"], tomllib.loads("x = [1, 2]"))

#%% email_message
from email.message import EmailMessage
message = EmailMessage()
message["Subject"] = "Hi"
message.set_content("Text")
print(message["Subject"], message.get_content().strip())

#%% mail_dates
from email.utils import parsedate_to_datetime
print(parsedate_to_datetime("Thu, 29 Feb 2024 12:00:00 +0000").isoformat())

#%% mime_types
import mimetypes
print(mimetypes.guess_type("a.json"))

#%% shlex_and_fnmatch
import fnmatch, shlex
print(shlex.split("a 'b c'"), fnmatch.filter(["a.py", "b.txt"], "*.py"))

#%% pure_paths
from pathlib import Path, PurePosixPath
print(PurePosixPath("/a/b.txt").suffix, Path("a") / "b", Path("x/y.tar.gz").stem)

#%% os_path
import os
print(os.path.join("a", "b"), os.path.splitext("a.txt"), os.path.basename("/x/y"))

#%% weak_references
import weakref
class Thing: ...
thing = Thing()
print(weakref.ref(thing)() is thing)

#%% context_variables
import contextvars
current = contextvars.ContextVar("current", default=1)
current.set(2)
print(current.get())

#%% garbage_and_sizes
import gc, sys
gc.collect()
print(sys.getsizeof([]) > 0, sys.maxsize > 2**32)

#%% platform_and_version
import sys
print(sys.version_info >= (3, 11), sys.implementation.name in ("cpython", "rustpython"))

#%% secrets
import secrets
print(len(secrets.token_hex(8)))

#%% graph_order
from graphlib import TopologicalSorter
print(list(TopologicalSorter({"b": {"a"}, "c": {"b"}}).static_order()))

#%% ip_networks
import ipaddress
print(ipaddress.ip_address("10.0.0.5") in ipaddress.ip_network("10.0.0.0/24"))

#%% colour_conversion
import colorsys
print(colorsys.rgb_to_hsv(1, 0, 0))

#%% timeit
import timeit
print(timeit.timeit("1 + 1", number=10) >= 0)

#%% unit_test_mock
from unittest import mock
double = mock.Mock(return_value=3)
print(double(1), double.call_count)

#%% multiprocessing_import
import multiprocessing
print(multiprocessing.cpu_count() > 0)

#%% socket_import
import socket
print(socket.AF_INET.name)

#%% http_status
from http import HTTPStatus
import http.client
print(HTTPStatus(404).phrase)

#%% argument_parser
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--n", type=int, default=3)
print(parser.parse_args([]).n)

#%% ctypes_import
import ctypes
print(ctypes.sizeof(ctypes.c_int))

#%% resource_and_signal
import resource, signal
print(signal.SIGTERM.name, resource.RUSAGE_SELF)
