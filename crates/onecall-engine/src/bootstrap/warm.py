"""The usual modules, imported once so that no program waits for them."""

import abc, base64, bisect, collections, collections.abc, contextlib, copy, csv, dataclasses
import datetime, decimal, difflib, enum, fractions, functools, hashlib, heapq, html, inspect
import io, itertools, json, math, operator, pprint, random, re, secrets, statistics, string
import textwrap, threading, time, traceback, types, typing, unicodedata, urllib.parse, uuid
import concurrent.futures.thread, gc, zoneinfo

zoneinfo.reset_tzpath(to=["/usr/share/zoneinfo"])

# A program handles large results and does not live long: the collector may look less often.
gc.set_threshold(50_000, 20, 100)
