"""What a signature of version 4 must be, worked out from AWS's description of it and without the SDK that made it.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from urllib.parse import parse_qsl, quote


@dataclass(frozen=True)
class Signed:
    """A signed request: everything that a signature depends on. `path` is as it was sent."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body_hash: str
    signed_at: str  # 20260105T090000Z
    region: str
    service: str


EMPTY = hashlib.sha256(b"").hexdigest()


def signature(request: Signed, secret: str) -> str:
    """The signature of the request. All headers of `headers` are signed."""
    scope = f"{request.signed_at[:8]}/{request.region}/{request.service}/aws4_request"
    canonical = hashlib.sha256(_canonical(request).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{request.signed_at}\n{scope}\n{canonical}"
    key = reduce(_keyed, scope.split("/"), f"AWS4{secret}".encode())
    return _keyed(key, text).hex()


def _keyed(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _canonical(request: Signed) -> str:
    pairs = sorted(parse_qsl(request.query, keep_blank_values=True))
    query = "&".join(
        f"{_escaped(name)}={_escaped(value)}" for name, value in pairs if name != "X-Amz-Signature"
    )
    names = sorted(name.lower() for name in request.headers)
    values = {name.lower(): " ".join(value.split()) for name, value in request.headers.items()}
    headers = "".join(f"{name}:{values[name]}\n" for name in names)
    path = quote(request.path, safe="/~")
    return "\n".join((request.method, path, query, headers, ";".join(names), request.body_hash))


def _escaped(text: str) -> str:
    return quote(text, safe="-_.~")
