import re
import string
import textwrap
import unicodedata
from collections import Counter

poem = await mcp__fixture__read_text(path="/docs/poem.txt")
words = re.findall(r"[a-z']+", poem.lower())
counts = Counter(words)
for word, n in sorted(counts.items(), key=lambda wn: (-wn[1], wn[0]))[:5]:
    print(f"{word:<6}{n}")
print(sum(counts.values()), len(counts), counts["missing"], (counts & Counter(["woods", "woods", "x"])))

paragraph = " ".join(poem.split("\n\n")[0].splitlines())
print(textwrap.fill(paragraph, width=40, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(paragraph, width=30, placeholder="..."))
print(textwrap.dedent("""\
    indented
      more
    back"""))
print(textwrap.indent("a\nb", "> "))

s = "  Hello, Wörld! "
print(repr(s.strip()), s.strip().swapcase(), s.title().strip(), s.strip().center(20, "~"))
print("straße".upper(), "STRASSE".casefold() == "straße".casefold(), "ñ".encode("utf-8"), len("🎉"))
print(unicodedata.normalize("NFKD", "Café Zürich").encode("ascii", "ignore").decode())
print(unicodedata.name("é"), unicodedata.category("A"), "\N{SNOWMAN}", "\u00e9" == "é")
print("a-b_c d".translate(str.maketrans("-_", "  ")), "abc".translate({ord("b"): None}))
print("key=value=x".partition("="), "a,b,,c".split(","), "a  b c".split(), "x.y.z".rsplit(".", 1))
print("prefix_name".removeprefix("prefix_"), "file.txt".removesuffix(".txt"), "7".zfill(3), "tab\there".expandtabs(4))
print("abc".isalpha(), "12".isdigit(), "a1".isalnum(), "Ab".istitle(), "x" * 3, "abcdef"[::-2], "banana".find("na", 3))
print(string.ascii_lowercase[:5], string.digits, "-".join(reversed("abc")), ord("a"), chr(8364))
print("line1\r\nline2\nline3".splitlines(), "%r" % "it's", repr('both \' and "'))
