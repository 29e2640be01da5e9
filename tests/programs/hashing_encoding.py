import base64
import binascii
import gzip
import hashlib
import hmac
import json
import struct
import uuid
import zlib

config = await mcp__fixture__read_text(path="/config/settings.json")
canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
print(canonical)
print("sha256", hashlib.sha256(canonical.encode()).hexdigest())
print("md5   ", hashlib.md5(b"hello").hexdigest())
print("sha1  ", hashlib.sha1("héllo".encode("utf-8")).hexdigest()[:16])
print("hmac  ", hmac.new(b"key", b"message", hashlib.sha256).hexdigest()[:32])
print("crc32 ", zlib.crc32(b"onecall"), f"{binascii.crc32(b'abc'):08x}", zlib.adler32(b"abc"))

print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), uuid.UUID(int=5).hex)
b64 = base64.b64encode("Zürich ✓".encode()).decode()
print(b64, base64.b64decode(b64).decode(), base64.urlsafe_b64encode(b"\xff\xfe\xfd"), base64.b32encode(b"hi"))
print(binascii.hexlify(b"\x00\xffA"), bytes.fromhex("48 69"), b"abc".hex("-"))

text = await mcp__fixture__read_text("/logs/app.log")
raw = text.encode()
for name, packed, unpack in (("zlib", zlib.compress(raw, 9), zlib.decompress), ("gzip", gzip.compress(raw), gzip.decompress)):
    print(name, len(packed) < len(raw) // 2, unpack(packed) == raw)

packed = struct.pack(">IhB4s", 1, -2, 255, b"abcd")
print(packed, struct.unpack(">IhB4s", packed), struct.calcsize("<dq"))
data = bytearray(b"hello")
data[0] = ord("J")
data.extend(b"!!")
print(data, bytes(data[::-1]), data.decode().upper(), list(b"az"), memoryview(data)[1:3].tobytes())
print(int.from_bytes(b"\x01\x00", "little"), (1025).to_bytes(2, "big"), b"a,b".split(b","), b"%d items" % 3)
