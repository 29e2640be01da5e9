"""The module `_sha2`, which `hashlib` and others take SHA-2 from since Python 3.12."""

import sys
import types

import _sha256
import _sha512

_sha2 = types.ModuleType("_sha2")
_sha2.sha224, _sha2.sha256 = _sha256.sha224, _sha256.sha256
_sha2.sha384, _sha2.sha512 = _sha512.sha384, _sha512.sha512
sys.modules["_sha2"] = _sha2
