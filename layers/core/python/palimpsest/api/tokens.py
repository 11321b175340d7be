"""Finds whose a call is by a token of the issuer that the deployer trusts, in the place of API
keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from aws_lambda_powertools.utilities.auth_alpha.exceptions import AuthError

from palimpsest.errors import Unauthenticated, Unavailable

BEARER = re.compile(r"(?:Bearer|Token) ([\w-]+\.[\w-]+\.[\w-]+)", re.IGNORECASE | re.ASCII)
LONGEST = 8_192  # characters of a header; the gateway takes little more
ROTATION = 30  # seconds until the keys are read again for an unknown key
ALGORITHMS = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
]


class Verifier(Protocol):
    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token after its signature, issuer, audience and times were checked.
        Raises `AuthError`.
        """


@dataclass(frozen=True, slots=True)
class Token:
    """A token's statements about its holder. Unlike a key it has no id that logs could hold."""

    tenant: str
    scopes: frozenset[str]
    id: None = None


@dataclass(frozen=True, slots=True)
class AuthorizeTokens:
    """Does for tokens what `Authorize` does for keys. The issuer's public keys are fetched from
    where its `/.well-known/openid-configuration` says, at most five minutes old.
    """

    verifier: Verifier
    issuer: str

    @classmethod
    def of(
        cls, issuer: str, audience: Sequence[str], *, jwks: dict[str, Any] | None = None
    ) -> Self:
        """`audience` are those of which a token must name one; with `jwks`, a set of keys, none are
        fetched.
        """
        from aws_lambda_powertools.utilities.auth_alpha.jwt import JWTVerifier

        verifier = JWTVerifier(
            issuer=issuer,
            audience=[*audience],
            algorithms=ALGORITHMS,
            required_claims=["tenant"],
            jwks=jwks,
            unknown_kid_cooldown_seconds=ROTATION,
        )
        return cls(verifier, issuer)

    def __call__(self, authorization: str | None) -> Token:
        """The sender of `Authorization: Bearer <token>`, from the claims `tenant` and `scope`
        (scopes with spaces between them).

        Raises `Unauthenticated` for an invalid token, and `Unavailable` while the keys can't be
        fetched.
        """
        authorization = authorization or ""
        match = BEARER.fullmatch(authorization) if len(authorization) <= LONGEST else None
        if match is None:
            raise Unauthenticated("The call carries no token.")
        try:
            claims = self.verifier.verify(match[1])
        except AuthError as error:
            if error.retryable:
                raise Unavailable("The issuer's keys can't be fetched now.") from error
            raise Unauthenticated("The token is not valid.") from error
        tenant, scopes = claims["tenant"], claims.get("scope")
        if not isinstance(tenant, str):
            raise Unauthenticated("The token names no tenant.")
        return Token(tenant, frozenset(scopes.split() if isinstance(scopes, str) else ()))
