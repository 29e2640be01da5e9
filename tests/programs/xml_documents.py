# Namespaces, prefixes and errors of XML documents, with every parser of the standard library.
import io
import xml.dom.minidom
import xml.etree.ElementTree as ET
import xml.sax

FEED = """<?xml version="1.0" encoding="utf-8"?>
<rss xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns="urn:feed" version="2.0">
  <channel xml:lang="en">
    <item dc:rank="1"><title>One &amp; two</title><dc:creator>Ann</dc:creator></item>
    <item><title>Größe</title><dc:creator xmlns:x="urn:x" x:y="z">Bob</dc:creator></item>
  </channel>
</rss>"""

names = dict(pair for _, pair in ET.iterparse(io.StringIO(FEED), events=["start-ns"]))
print(names)
root = ET.fromstring(FEED)
print(root.tag, [item.findtext("dc:creator", namespaces=names) for item in root.iter("{urn:feed}item")])
print(root.find("{urn:feed}channel").attrib, next(root.iter("{urn:feed}item")).attrib)
for event, found in ET.iterparse(io.BytesIO(FEED.encode()), events=["start", "end", "start-ns", "end-ns"]):
    print(event, found.tag if hasattr(found, "tag") else found)
print(ET.canonicalize(FEED, strip_text=True))

document = xml.dom.minidom.parseString(FEED)
print([node.firstChild.data for node in document.getElementsByTagName("dc:creator")])
print(document.documentElement.toxml())


class Names(xml.sax.ContentHandler):
    def startElement(self, name, attributes):
        print("start", name, dict(attributes))

    def endElement(self, name):
        print("end", name)


xml.sax.parseString(FEED.encode(), Names())

for broken in [
    "", "   ", "not XML", '{"a": 1}', "<a>", "<a><b></a>", "<a>\n<b>\n</c></a>", "<a><b", "<a/><b/>", "<a/> rest",
    "<a>&nbsp;</a>", "<a>R&D</a>", "<a b='&x;'/>", "<a x='1' x='2'/>", "<p:a/>", "\n<?xml version='1.0'?><a/>",
    "<a/>\n<!-- end -->\n", "<a>1 < 2</a>",
]:
    try:
        print(repr(broken), ET.tostring(ET.fromstring(broken)))
    except ET.ParseError as error:
        print(repr(broken), error, error.code, error.position)
