"""Imports the usual modules in advance, so that no program waits for them."""

import abc, base64, bisect, collections, collections.abc, contextlib, copy, csv, dataclasses
import datetime, decimal, difflib, enum, fractions, functools, hashlib, heapq, html, inspect
import io, itertools, json, math, operator, pprint, random, re, secrets, statistics, string
import textwrap, threading, time, traceback, types, typing, unicodedata, urllib.parse, uuid
import concurrent.futures.thread, gc, os, pwd

_getpwuid = pwd.getpwuid


@functools.wraps(_getpwuid)
def getpwuid(uid):
    """Finds no user where there is no file of users, as in CPython; the embedded interpreter says
    that a file is missing, which those who ask for a home do not expect."""
    try:
        return _getpwuid(uid)
    except FileNotFoundError:
        raise KeyError(f"getpwuid(): uid not found: {uid}") from None


pwd.getpwuid = getpwuid

# The module reads the home directory of the user when it is imported. Without the variable, libc
# would load the machine's user database libraries into every worker.
os.environ["HOME"] = "/"
import zoneinfo

del os.environ["HOME"]

zoneinfo.reset_tzpath(to=["/usr/share/zoneinfo"])

# Programs have large results and short lives: garbage collection may run less often.
gc.set_threshold(50_000, 20, 100)
