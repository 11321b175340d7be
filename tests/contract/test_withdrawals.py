"""Withdrawals beside others who write to the same session, each from a process of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore

import pytest
from palimpsest.clock import SystemClock
from palimpsest.conversations.append import Append
from palimpsest.conversations.begin import BeginSession
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.history import History
from palimpsest.conversations.listing import SessionLimit
from palimpsest.scope import SessionScope
from palimpsest_local.stores.tenants import LocalTenants
from palimpsest_testing.store import Store

from tests.doubles.tokens import LetterCounter

CLOCK = SystemClock()
WRITERS, WITHDRAWALS, LONG = 5, 5, 20


def appending(store: Store) -> Append:
    """As a process has it: its writers take turns among themselves alone."""
    tenants, tokens = LocalTenants(), LetterCounter()
    begin = BeginSession(tenants, tokens, SessionLimit(store.sessions, CLOCK))
    return Append(store.sessions, tenants, tokens, CLOCK, begin)


@pytest.mark.parametrize(
    "engine", ["in_memory", "dynoxide"]
)  # on moto threads see half of a transaction
def test_withdrawals_beside_five_writers_who_never_pause_end(
    store: Store, scope: SessionScope
) -> None:
    first, *others = [appending(store) for _ in range(WRITERS)]
    for number in range(LONG):
        begun = first(
            scope,
            [Draft({"role": "user", "content": f"{number}.{n}"}) for n in range(50)],
            user="sarah",
        )
    history, is_over, written = History(store.sessions, CLOCK), Event(), Semaphore(0)

    def write(append: Append) -> int:
        count = 0
        while not is_over.is_set():
            append(scope, [Draft({"role": "user", "content": f"{id(append)}: {count}"})])
            count += 1
            written.release()
        return count

    with ThreadPoolExecutor(WRITERS) as writers:
        counts = [writers.submit(write, append) for append in (first, *others)]
        try:
            for _ in range(WITHDRAWALS):
                newest = _newest(store, scope, written)
                withdrawn, job = history.withdraw(scope, first=newest)
                assert job is not None
                assert withdrawn.is_withdrawn(newest)
        finally:
            is_over.set()
    head = store.sessions.open(scope).head
    assert head is not None
    assert head.seq == begun.head.seq + sum(count.result() for count in counts)
    hidden = sum(last - first + 1 for first, last in head.withdrawn)
    assert len(head.withdrawn) == WITHDRAWALS <= hidden
    shown, _ = history.messages(scope, limit=10_000)
    assert (shown[0].chat["content"], len(shown)) == ("0.0", head.seq - hidden)


def _newest(store: Store, scope: SessionScope, written: Semaphore) -> int:
    """The number of the newest message, once one has come behind those that were withdrawn."""
    while True:
        assert written.acquire(timeout=20)
        head = store.sessions.open(scope).head
        assert head is not None
        if not head.is_withdrawn(head.seq):
            return head.seq
