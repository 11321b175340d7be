"""An issuer's key of the tests' own, and the tokens that it signs."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

ISSUER = "https://issuer.example"
AUDIENCE = "palimpsest"
KEY = ec.generate_private_key(ec.SECP256R1())


def public(key: ec.EllipticCurvePrivateKey = KEY, *, kid: str = "k1") -> dict[str, Any]:
    """The public half, as a set of keys lists it."""
    key_set: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    return {**key_set, "kid": kid, "use": "sig"}


def claims(**more: Any) -> dict[str, Any]:
    """Those of a good token, with others laid over them; what is None is left out."""
    good = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": int(time.time()) + 300,
        "tenant": "acme",
        "scope": "read write",
    }
    return {name: value for name, value in {**good, **more}.items() if value is not None}


def token(
    *,
    key: ec.EllipticCurvePrivateKey = KEY,
    headers: dict[str, Any] | None = None,
    kid: str | None = "k1",
    **more: Any,
) -> str:
    named = {} if kid is None else {"kid": kid}
    payload = json.dumps(
        claims(**more)
    ).encode()  # whatever it is: the library would refuse some of it
    return jwt.PyJWS().encode(payload, key, algorithm="ES256", headers={**named, **(headers or {})})
