"""The call that is being answered: its caller, what the caller may do, and the time that is left.
Only this module reads the tenant and the scopes of a call.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, TypeVar

from palimpsest.clock import Clock, seconds
from palimpsest.errors import (
    BadRequest,
    CommitLost,
    InvalidKey,
    LimitReached,
    MissingScope,
    Unauthenticated,
    Unavailable,
)
from palimpsest.idempotency import KEY_SECONDS, KeyedCall, KeyedCalls, Once
from palimpsest.scope import OPERATOR, Scope, SessionScope, UserScope, checked_id
from palimpsest.service.service import Service as Service  # noqa: PLC0414 - all of the API has it from here

KEY = "Idempotency-Key"
OWNER = "user_id"
Made = TypeVar("Made")
LONGEST = 27.0  # seconds; the gateway gives up after 30


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request: a tenant, and the scopes of the caller's credential. `key_id` names
    the API key in logs; it isn't a secret.
    """

    tenant: Scope
    scopes: frozenset[str]
    key_id: str | None = None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Caller:
        """Return the caller as the function `authorize` states it. Nothing is taken from the
        request itself.

        Raises `InvalidKey` for an invalid key, `Unavailable` if the key can't be checked now, and
        `Unauthenticated` for any other call without a tenant.
        """
        stated = (event.get("requestContext", {}).get("authorizer") or {}).get("lambda") or {}
        cls._let_in(stated.get("refused"), "valid token" if stated.get("issuer") else "key")
        tenant, scopes, key_id = (stated.get(name) for name in ("tenant", "scopes", "key_id"))
        if not isinstance(tenant, str) or tenant == OPERATOR:
            raise Unauthenticated("The call carries no tenant.")
        try:
            scope = Scope(tenant)
        except BadRequest as error:
            raise Unauthenticated("The call carries no tenant.") from error
        granted = frozenset(scopes.split()) if isinstance(scopes, str) else frozenset[str]()
        return cls(scope, granted, key_id if isinstance(key_id, str) else None)

    @staticmethod
    def _let_in(refused: object, credential: str) -> None:
        """Raise the error for a credential that the authorizer has refused. `refused` is the
        error's code, or None for an accepted caller.
        """
        if refused == InvalidKey.code:
            raise InvalidKey(f"The {credential} is not valid.")
        if refused == Unavailable.code:
            raise Unavailable("The tenant can't be determined right now. Try again.")
        if refused is not None:
            raise Unauthenticated(f"The call carries no {credential}.")

    def require(self, *scopes: str) -> None:
        """Raise `MissingScope` unless the credential has every one of these scopes."""
        missing = [scope for scope in scopes if scope not in self.scopes]
        if missing:
            raise MissingScope(missing=missing[0], needed=scopes)


MOST_WAITING = 5
"""The highest number of a tenant's requests that may wait at the same time, over all functions and
keys. Each waiting request occupies a function that others need.
"""
SPARE = 5  # seconds after its time at which a place is free even if it was not given back


QUERIES_AT_ONCE = 2
"""The highest number of a tenant's Cypher queries that may run at the same time, over all functions
and keys.
"""
# seconds after which a refused query should be tried again; most queries take milliseconds
SOON = 1


def place_to_wait(
    calls: KeyedCalls, scope: Scope, *, wait: float, clock: Clock
) -> KeyedCall | None:
    """Take one of the tenant's places for waiting requests, for `wait` seconds. Returns None if all
    places are taken or the store is unavailable.
    """
    with suppress(Unavailable):
        return _place(calls, scope, "waiting", most=MOST_WAITING, lasts=wait, clock=clock)
    return None


def place_to_query(calls: KeyedCalls, scope: Scope, *, clock: Clock) -> KeyedCall:
    """Take one of the tenant's places for running queries, for as long as a call may take. Raises
    `LimitReached` (`too_many_queries`) if all places are taken, and `Unavailable` if the store is
    unavailable.
    """
    place = _place(calls, scope, "querying", most=QUERIES_AT_ONCE, lasts=LONGEST, clock=clock)
    if place is None:
        raise LimitReached(
            f"{QUERIES_AT_ONCE} queries of the tenant are running. Try again when one ends.",
            code="too_many_queries",
            limit="queries_at_once",
            most=QUERIES_AT_ONCE,
            retry_after=SOON,
        )
    return place


def _place(
    calls: KeyedCalls, scope: Scope, what: str, *, most: int, lasts: float, clock: Clock
) -> KeyedCall | None:
    """Take one of the tenant's `most` places of the kind `what`, for `lasts` seconds. Returns None
    if all are taken. A place is stored as a keyed call, so that all processes share it. No
    idempotency key can have the name of a place. Raises `Unavailable`.
    """
    now = seconds(clock.now())
    until = now + ceil(lasts) + SPARE
    # The places are tried in random order, so that calls at the same time rarely try the same
    # place.
    for number in random.sample(range(most), most):
        place = KeyedCall(scope.tenant, f"{what}-{number}", request="", expires_at=until)
        with suppress(CommitLost):
            stored = calls.get(place)
            if stored is None or stored.expires_at <= now:
                calls.put(replace(place, version=stored.version if stored else 0))
                return replace(place, version=stored.version + 1 if stored else 1)
    return None


def give_back(calls: KeyedCalls, place: KeyedCall) -> None:
    """Free the place. If that fails, the place becomes free when its time is over."""
    with suppress(CommitLost, Unavailable):
        calls.put(replace(place, expires_at=0))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operation. `request` is the event as `guarded` returns it. `shows` says whether
    the answer may contain stored text. `calls` stores keyed calls and places. `begun` is the value
    of time.monotonic() at the beginning of the call. `places` lists the places that the call has
    taken: a tenant has only a few for calls that wait, and a few for queries.
    """

    caller: Caller
    request: Mapping[str, Any]
    calls: KeyedCalls
    clock: Clock
    shows: bool = True
    begun: float = field(default_factory=time.monotonic)
    places: list[KeyedCall] = field(default_factory=list)

    def user(self, user_id: str) -> UserScope:
        return self.caller.tenant.user(user_id)

    def session(self, session_id: str) -> SessionScope:
        """Return the scope of the session. If a read names an owner with the parameter `user_id`,
        the session of another user is not found.
        """
        query = self.request.get("queryStringParameters") or {}
        return self.caller.tenant.session(session_id, user=query.get(OWNER))

    @property
    def key(self) -> str | None:
        """The idempotency key that was sent, or None. Raises `BadRequest` (`invalid_id`)."""
        key = self.request["headers"].get(KEY.lower())
        return None if key is None else checked_id(key.strip().strip('"'), field=KEY)

    @property
    def once(self) -> Once | None:
        """The record by which a call with an idempotency key is done only once; None without a key.
        Its name is a hash of method, path and key.
        """
        if self.key is None:
            return None
        method, body = (
            self.request["requestContext"]["http"]["method"],
            json.loads(self.request["body"] or "{}"),
        )
        now = seconds(self.clock.now())
        call = KeyedCall(
            tenant=self.caller.tenant.tenant,
            name=_hash([method, self.request["rawPath"], self.key]),
            request=_hash(body),
            expires_at=now + KEY_SECONDS,
        )
        return Once(self.calls, call, self.clock)

    def made(self, make: Callable[[str | None], Made]) -> Made:
        """Return the result of `make`. A repeated call with the same idempotency key returns the
        result of the first one. The result must be JSON.

        `make` is called with a name that follows from the key, or with None without a key. It must
        derive ids from this name, or be safe to repeat.
        """
        once = self.once
        return make(None) if once is None else once(lambda: make(once.call.name))

    def patience(self, wait: float) -> float:
        """Return how many seconds the call may wait: at most `wait`, and not beyond the gateway's
        time-out. Returns 0 if too many of the tenant's requests are waiting already.
        """
        wait = max(0.0, min(wait, LONGEST - (time.monotonic() - self.begun)))
        if wait and not self.places:
            place = place_to_wait(self.calls, self.caller.tenant, wait=wait, clock=self.clock)
            self.places.extend([] if place is None else [place])
        return wait if self.places else 0.0

    def take_place_to_query(self) -> None:
        """Take a place to run a query. It is given back at the end of the call. Raises the same
        errors as `place_to_query`.
        """
        self.places.append(place_to_query(self.calls, self.caller.tenant, clock=self.clock))

    def give_back_places(self) -> None:
        """Give back all places that the call has taken."""
        for place in self.places:
            give_back(self.calls, place)


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
