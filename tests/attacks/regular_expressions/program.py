import re

# %% nested repetition
re.match("(a+)+$", "a" * 40 + "b")

# %% alternatives that overlap
re.match("(a|a)*$", "a" * 40 + "b")

# %% a search in a long text
re.search("(.*)*x(.*)*y(.*)*z", "x" * 100_000)

# %% a back reference
re.match(r"(a*)*\1b", "a" * 60)

# %% in a thread
import threading
thread = threading.Thread(target=lambda: re.match("(a+)+$", "a" * 40 + "b"))
thread.start()
thread.join()

# %% a lazy quantifier
re.sub("(x+?x+?)+y", "", "x" * 60)

# %% repetitions as many as can be
re.compile("(" * 50 + "a" + "{1000}){1000}" * 1 + "){1000}" * 49).match("a" * 10**6)
while True:
    pass

# %% patterns nested deeply
re.compile("(" * 100_000 + ")" * 100_000)

# %% a template that grows
re.sub("a", r"\g<0>" * 1_000_000, "a" * 10**7)
