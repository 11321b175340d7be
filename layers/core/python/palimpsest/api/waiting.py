"""How many requests of a tenant may wait at the same time: each holds a function that others need."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from math import ceil

from palimpsest.clock import Clock, seconds
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.idempotency import KeyedCall, KeyedCalls
from palimpsest.scope import Scope

MOST = 5
"""Requests of a tenant that wait at the same time, however many functions and keys they have."""
SPARE = 5  # seconds after which a place is free although nobody gave it back


def taken(calls: KeyedCalls, scope: Scope, *, wait: float, clock: Clock) -> KeyedCall | None:
    """A place to wait so many seconds; None if all are taken, or can't be asked for now. A place is kept as the keyed
    call of a name that no idempotency key gives.
    """
    now = seconds(clock.now())
    until = now + ceil(wait) + SPARE
    for number in random.sample(range(MOST), MOST):
        place = KeyedCall(scope.tenant, f"waiting-{number}", request="", expires_at=until)
        with suppress(CommitLost, Unavailable):
            found = calls.get(place)
            if found is None or found.expires_at <= now:
                calls.put(replace(place, version=found.version if found else 0))
                return replace(place, version=found.version + 1 if found else 1)
    return None


def give_back(calls: KeyedCalls, place: KeyedCall) -> None:
    """Free the place. If that fails, it is free when its time is over."""
    with suppress(CommitLost, Unavailable):
        calls.put(replace(place, expires_at=0))
