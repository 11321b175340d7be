"""Idempotency keys. A call and its result are stored under the key in one transaction, so that a
repeated call makes nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost, Conflict, PalimpsestError, Unavailable

KEY_SECONDS = 24 * 3600 + 3600
FREE = ""  # the `request` of a key whose call was refused, so that any call may use the key again

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """The item that is stored under an idempotency key. `made` is the call's result in ids and
    counts, never text (None: no result yet). `name` is a digest of key, method and path, `request`
    of the body. After `expires_at` (epoch seconds) the item counts as absent. `version` is as read;
    0 if nothing is stored.
    """

    tenant: str
    name: str
    request: str
    expires_at: int
    made: Any = None
    version: int = 0


class KeyedCalls(Protocol):
    """The store of keyed calls, in a table that the transactions of use cases can write too. Every
    call raises `Unavailable`.
    """

    def get(self, call: KeyedCall) -> KeyedCall | None:
        """The stored call with the tenant and name of this call, by a strongly consistent read;
        None if there is none.
        """

    def put(self, call: KeyedCall) -> None:
        """Store the call and raise its version by one. Raises `CommitLost` if the stored call is
        not at `version`. A commit with a `call` does the same in its transaction.
        """


@dataclass(frozen=True, slots=True)
class Once:
    """One call with an idempotency key. `call` is the item to store, without a result."""

    calls: KeyedCalls
    call: KeyedCall
    clock: Clock

    def stored(self) -> KeyedCall:
        """The stored call. If none is stored, the call as the use case's commit must store it, with
        its result. Raises `Conflict` (`idempotency_key_reused`) if the key was used with another
        body.
        """
        return self._read()[0]

    def __call__(self, make: Callable[[], Made]) -> Made:
        """The result of `make`, or its stored result from the first call with this key. `make` must
        return JSON and be safe to repeat, because it is called again if nothing was stored after
        it. A refused call leaves the key free. Raises `Conflict` (`idempotency_key_reused`).
        """
        call = self._taken()
        if call.made is not None:
            return cast(Made, call.made)
        try:
            made = make()
        except PalimpsestError as error:
            if not error.retryable:
                with suppress(CommitLost, Unavailable):
                    self.calls.put(replace(call, request=FREE))
            raise
        try:
            self.calls.put(replace(call, made=made))
        except CommitLost:  # the same call was made at the same time
            return cast(Made, self.stored().made or made)
        return made

    def _taken(self) -> KeyedCall:
        call, is_taken = self._read()
        if is_taken:
            return call
        try:
            self.calls.put(call)
        except CommitLost:
            return self._taken()
        return replace(call, version=call.version + 1)

    def _read(self) -> tuple[KeyedCall, bool]:
        """The stored call and True; if none is stored, the call to store and False."""
        found = self.calls.get(self.call)
        if found is None or found.request == FREE or found.expires_at <= seconds(self.clock.now()):
            return replace(self.call, version=found.version if found else 0), False
        if found.request != self.call.request:
            raise Conflict(
                "The idempotency key was used with another body.", code="idempotency_key_reused"
            )
        return found, True
