"""Idempotency keys. A call and its result are stored under the key in one transaction, so a
repeated call stores nothing new.
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
    """The item that is stored under an idempotency key.

    `made` is the call's result in ids and counts, never text (None: no result yet). `name` is a
    digest of key, method and path. `request` is a digest of the body. After `expires_at` (epoch
    seconds) the item counts as absent. `version` is the stored item's version when it was read, or
    0 if nothing was stored.
    """

    tenant: str
    name: str
    request: str
    expires_at: int
    made: Any = None
    version: int = 0


class KeyedCalls(Protocol):
    """The store of keyed calls. Its table can also be written by the transactions of use cases.
    Every method raises `Unavailable`.
    """

    def get(self, call: KeyedCall) -> KeyedCall | None:
        """Return the stored call with the tenant and name of `call`, or None if there is none. The
        read is strongly consistent.
        """

    def put(self, call: KeyedCall) -> None:
        """Store the call and raise its version by one. Raises `CommitLost` if the stored call's
        version is not `call.version`. A commit that has a `call` stores it in the same way within
        its transaction.
        """


@dataclass(frozen=True, slots=True)
class Once:
    """One call with an idempotency key. `call` is the item to store, without a result."""

    calls: KeyedCalls
    call: KeyedCall
    clock: Clock

    def stored(self) -> KeyedCall:
        """Return the stored call. If none is stored, return the call that the use case's commit
        must store, together with its result. Raises `Conflict` (`idempotency_key_reused`) if the
        key was used with another body.
        """
        return self._read()[0]

    def __call__(self, make: Callable[[], Made]) -> Made:
        """Return the result of `make`, or the stored result of the first call with this key.

        `make` must return JSON and be safe to repeat. It is called again if an earlier call ended
        before its result was stored. A refused call leaves the key unused. Raises `Conflict`
        (`idempotency_key_reused`).
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
        """Return the stored call and True. If none is stored, return the call to store and
        False.
        """
        stored = self.calls.get(self.call)
        if (
            stored is None
            or stored.request == FREE
            or stored.expires_at <= seconds(self.clock.now())
        ):
            return replace(self.call, version=stored.version if stored else 0), False
        if stored.request != self.call.request:
            raise Conflict(
                "The idempotency key was used with another body.", code="idempotency_key_reused"
            )
        return stored, True
