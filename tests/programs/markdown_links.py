# Extract headings, links and e-mail addresses from a document
import re
from html import escape, unescape
from urllib.parse import urlparse, parse_qs, urlencode, quote, unquote, urljoin

doc = await mcp__fixture__read_text("/docs/handbook.md")

outline = []
for line in doc.splitlines():
    if m := re.match(r"(#+)\s+(.*)", line):
        level = len(m[1])
        outline.append("  " * (level - 1) + m[2])
print("\n".join(outline))

links = re.findall(r"\[([^\]]+)\]\(([^)]+)\)", doc)
print(links)
emails = sorted(set(re.findall(r"[\w.+-]+@[\w-]+\.\w+", doc)))
print(emails)
print(re.sub(r"(\d+) (EUR|km)", lambda m: f"{int(m[1]) * 2} {m[2]}", doc.splitlines()[10]))

sections = re.split(r"^## ", doc, flags=re.M)[1:]
print({s.split("\n", 1)[0]: len(s.split()) for s in sections})

url = urlparse("https://example.com:8443/a/b?x=1&y=2&x=3#top")
print(url.scheme, url.hostname, url.port, url.path, parse_qs(url.query), url.fragment)
print(urlencode({"q": "a b&c", "n": 5}), quote("é/ü"), unquote("%C3%A9"), urljoin("https://x.org/a/b", "../c"))
print(escape('<a href="x">Tom & "Jo"</a>'), unescape("&lt;b&gt; &amp; &eacute; &#8364;"))
