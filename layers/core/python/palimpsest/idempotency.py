"""Idempotency keys: what a call made is stored under its key together with it; the call repeated
makes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost, Conflict, PalimpsestError, Unavailable

KEY_SECONDS = 24 * 3600 + 3600
FREE = ""  # the `request` of a key whose call was refused: any call may use it

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class KeyedCall:
    """What is stored under an idempotency key. `made` says what the call has made, in ids and
    counts, never in text; None = nothing yet.

    `name` identifies the key, the method and the path, `request` the body. After `expires_at`
    (epoch seconds) it counts as absent. `version` is as read; 0 = nothing is stored.
    """

    tenant: str
    name: str
    request: str
    expires_at: int
    made: Any = None
    version: int = 0


class KeyedCalls(Protocol):
    """The store of keyed calls, within reach of the transactions that make something. Raises
    `Unavailable`.
    """

    def get(self, call: KeyedCall) -> KeyedCall | None:
        """The call that is stored under this one's tenant and name, by a strongly consistent
        read.
        """

    def put(self, call: KeyedCall) -> None:
        """Store it and raise its version by one. Raises `CommitLost` if the stored one is not at
        `version`. A commit with a `call` does the same in its transaction.
        """


@dataclass(frozen=True, slots=True)
class Once:
    """One call with an idempotency key. `call` is what would be stored."""

    calls: KeyedCalls
    call: KeyedCall
    clock: Clock

    def stored(self) -> KeyedCall:
        """The call as it is stored, or as the commit that makes something must store it, with what
        that makes.

        Raises `Conflict` (`idempotency_key_reused`) if another body was sent under the key.
        """
        return self._read()[0]

    def __call__(self, make: Callable[[], Made]) -> Made:
        """What `make` returns, or returned for the first such call. `make` must be safe to repeat,
        as it is done again if nothing was stored after it; its result must be JSON. A call that is
        refused leaves the key free.

        Raises `Conflict` (`idempotency_key_reused`).
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
        """The call as it is stored, and True; or as it would be, and False."""
        found = self.calls.get(self.call)
        if found is None or found.request == FREE or found.expires_at <= seconds(self.clock.now()):
            return replace(self.call, version=found.version if found else 0), False
        if found.request != self.call.request:
            raise Conflict(
                "The idempotency key was used with another body.", code="idempotency_key_reused"
            )
        return found, True
