"""Two who write at once: whoever commits second has seen the first, and nobody's message falls between them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import permutations

import pytest
from palimpsest.scope import SessionScope

from tests.unit.world import World

DAY = 24 * 3600


def meanwhile(world: World, happens: Callable[[], object]) -> None:
    """Let it happen between the reads and the commit of whatever is done next."""
    waiting = [happens]

    def strike(step: str) -> None:
        if step == "before commit" and waiting:
            waiting.pop()()

    world.sessions.state.faults = strike


def covered(world: World, session: SessionScope) -> list[int]:
    """Every sequence number that the window holds or a compaction stands for."""
    head = world.app.manage.read(session).head
    folded = world.app.history.compactions(session, limit=1000)[0]
    held = range(head.window_start, head.seq + 1)
    return [*(seq for each in folded for seq in range(each.first, each.last + 1)), *held]


def test_writers_racing_the_summariser_lose_nothing_and_nothing_is_left_out() -> None:
    world = World(max_tokens=600)
    world.append("the first")
    stop = threading.Event()

    def summarise() -> None:
        while not stop.is_set():
            world.drain()
        world.drain()

    def write(writer: int) -> None:
        for number in range(25):
            world.append(f"{writer}-{number} {'q' * 40}", key=f"{writer}-{number}")

    worker = threading.Thread(target=summarise)
    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in (worker, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    worker.join()
    assert world.history() == list(range(1, 102))
    assert len(world.summarizer.read) > 1
    assert covered(world, world.session()) == list(range(1, 102))


def test_an_append_that_meets_a_deletion_belongs_to_the_new_life() -> None:
    world = World(max_tokens=600)
    world.say(3)
    meanwhile(world, lambda: world.app.manage.delete(world.session()))
    appended = world.append("new")
    assert appended.created
    world.drain()
    assert world.history() == [appended.messages[0].seq]
    assert world.shown() == ["new"]


def test_an_append_that_meets_the_sweep_of_an_expired_session_begins_a_new_one() -> None:
    world = World(max_tokens=600)
    world.say(3)
    world.time.advance(31 * DAY)
    meanwhile(world, world.sweep)
    appended = world.append("after a month")
    assert appended.created
    world.drain()
    assert world.shown() == ["after a month"]
    assert world.history() == [appended.messages[0].seq]


def test_a_sweep_that_meets_an_append_leaves_the_session_alone() -> None:
    world = World(max_tokens=600)
    world.say(3)
    world.time.advance(31 * DAY)
    meanwhile(world, lambda: world.append("still here"))
    world.sweep()
    world.drain()
    assert world.shown() == ["still here"]
    world.sweep()
    world.drain()
    assert world.shown() == ["still here"]


@pytest.mark.parametrize("act", ["delete", "withdraw", "empty", "drop"])
def test_a_summary_that_meets_another_who_moves_the_window_is_discarded(act: str) -> None:
    world = World(max_tokens=600)
    world.say(30)
    session = world.session()
    acts: dict[str, Callable[[], object]] = {
        "delete": lambda: world.app.manage.delete(session),
        "withdraw": lambda: world.app.history.withdraw(session, first=4),
        "empty": lambda: world.app.history.empty(session),
        "drop": lambda: world.app.prune(session, strategy="fifo", max_tokens=200),
    }
    meanwhile(world, acts[act])
    job = world.outbox[0]
    world.handle(job)
    stored = world.jobs.get(session.owner, job.id)
    assert stored is not None
    assert (stored.state, stored.error) == ("done", "overtaken")
    if act == "delete":
        return
    folded = world.app.history.compactions(session, limit=50)[0]
    assert all(each.summary is None for each in folded)
    assert not any("CONVERSATION SUMMARY" in text for text in world.shown())


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_jobs_that_arrive_in_any_order_end_in_the_same_state(order: tuple[int, ...]) -> None:
    world = World(max_tokens=600)
    world.say(30)
    session = world.session()
    world.app.history.withdraw(session, first=51)
    world.say(5)
    summarize, withdraw, again = world.outbox
    jobs = [summarize, withdraw, again]
    assert [job.kind for job in jobs] == ["summarize", "withdraw", "summarize"]
    for which in order:
        world.handle(jobs[which])
    world.drain()
    assert world.history() == [*range(1, 51), *range(61, 71)]
    head = world.app.manage.read(session).head
    (compaction, *_) = world.app.history.compactions(session, limit=50)[0]
    read = [seq for step in world.summarizer.read for seq in step]
    assert read == [seq for seq in range(compaction.first, head.window_start) if seq in world.history()]
    assert head.compaction == "none"
    assert world.shown()[0] == f"CONVERSATION SUMMARY: up to {read[-1]}"
