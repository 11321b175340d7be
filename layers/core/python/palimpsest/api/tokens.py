"""The authorization by tokens of an issuer that the deployer trusts, in place of API keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from aws_lambda_powertools.utilities.auth_alpha.exceptions import AuthError

from palimpsest.errors import Unauthenticated, Unavailable

BEARER = re.compile(r"(?:Bearer|Token) ([\w-]+\.[\w-]+\.[\w-]+)", re.IGNORECASE | re.ASCII)
LONGEST = 8_192  # characters of a header; the gateway accepts hardly more
ROTATION = 30  # seconds before keys are fetched again for a token with an unknown key
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
        """Return the claims of a token after checking its signature, issuer, audience and times.
        Raises `AuthError`.
        """


@dataclass(frozen=True, slots=True)
class Token:
    """The statements of a token about its holder. Unlike an API key, a token has no id for the
    logs.
    """

    tenant: str
    scopes: frozenset[str]
    id: None = None


@dataclass(frozen=True, slots=True)
class AuthorizeTokens:
    """Authorizes callers by tokens, as `Authorize` does by API keys. The issuer's public keys are
    at most five minutes old. They are fetched from the address that the issuer's
    `/.well-known/openid-configuration` states.
    """

    verifier: Verifier
    issuer: str

    @classmethod
    def of(
        cls, issuer: str, audience: Sequence[str], *, jwks: dict[str, Any] | None = None
    ) -> Self:
        """Return an authorizer for the issuer's tokens. A token must name one of `audience`. `jwks`
        is a set of public keys; with it, no keys are fetched.
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
        """Return the holder of the token in `Authorization: Bearer <token>`. Tenant and scopes come
        from the claims `tenant` and `scope` (scopes separated by spaces).

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
