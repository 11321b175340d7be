"""Sessions that are made, deleted, made again, expire, are emptied and withdrawn from."""

from __future__ import annotations

import pytest
from palimpsest.conversations.manage import Wanted
from palimpsest.errors import BadRequest, Conflict, NotFound

from tests.unit.world import TENANT, World

DAY = 24 * 3600


def test_a_session_made_again_under_its_id_shows_nothing_old_and_loses_nothing_new() -> None:
    world = World(max_tokens=600)
    world.say(30)
    pending = list(world.outbox)
    world.app.manage.delete(world.session())
    world.append("new life", key="k")
    for job in pending:
        world.handle(job)
    world.drain()
    assert world.shown() == ["new life"]
    assert len(world.history()) == 1
    assert min(world.history()) > 60


def test_a_deleted_session_is_not_found_at_once_and_its_job_can_be_read() -> None:
    world = World()
    world.append("hello")
    job = world.app.manage.delete(world.session())
    with pytest.raises(NotFound):
        world.app.manage.read(world.session())
    world.drain()
    assert world.app.read_job(TENANT, job).state == "done"
    assert len(world.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 0


def test_a_replay_of_an_earlier_lifes_key_is_a_new_append() -> None:
    world = World()
    world.append("hello", key="k1")
    world.app.manage.delete(world.session())
    again = world.append("hello", key="k1")
    assert not again.replayed
    world.drain()
    assert world.append("hello", key="k1").replayed


def test_a_removal_that_failed_is_begun_again_by_the_sweep() -> None:
    world = World()
    world.append("hello")
    job_id = world.app.manage.delete(world.session())
    world.delivered = 1  # the queue lost it
    world.time.advance(3600)
    world.sweep()
    world.sweep()
    world.drain()
    assert world.app.read_job(TENANT, job_id).state == "failed"
    assert world.outbox[-1].attempt == 1
    assert len(world.outbox) == 2
    assert len(world.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 0


def test_an_expired_session_is_gone_before_the_sweep_comes_and_removed_by_it() -> None:
    world = World()
    world.append("hello")
    world.time.advance(30 * DAY)
    with pytest.raises(NotFound):
        world.shown()
    world.sweep()
    world.drain()
    assert len(world.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 0


def test_activity_keeps_a_session() -> None:
    world = World()
    world.append("hello")
    world.time.advance(29 * DAY)
    world.append("still here")
    world.time.advance(2 * DAY)
    world.sweep()
    assert world.shown() == ["hello", "still here"]
    world.time.advance(29 * DAY)
    world.sweep()
    world.drain()
    with pytest.raises(NotFound):
        world.shown()


def test_a_session_begun_over_an_expired_one_has_nothing_of_it() -> None:
    world = World()
    world.append("old", key="k")
    world.time.advance(31 * DAY)
    world.append("new", key="k")
    world.drain()
    world.sweep()
    world.drain()
    assert world.shown() == ["new"]
    assert len(world.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 1


def test_withdrawing_takes_messages_out_of_window_and_history() -> None:
    world = World()
    world.say(3)
    world.app.history.withdraw(world.session(), first=5)
    assert world.history() == [1, 2, 3, 4]
    assert len(world.shown()) == 4
    world.drain()
    world.append("instead")
    assert world.history() == [1, 2, 3, 4, 7]
    head = world.app.manage.read(world.session()).head
    assert head.withdrawn == ()


def test_withdrawing_behind_a_summary_opens_what_it_stood_for() -> None:
    world = World(max_tokens=600)
    world.say(30)
    world.drain()
    folded = world.app.history.compactions(world.session(), limit=1)[0][0].last
    world.app.history.withdraw(world.session(), first=folded)
    world.drain()
    head = world.app.manage.read(world.session()).head
    assert world.history() == list(range(1, folded))
    assert (head.summary, head.window_start) == (0, 1)
    world.say(20)
    world.drain()
    assert world.app.manage.read(world.session()).head.summary > 0


def test_withdrawing_everything_leaves_a_session_that_goes_on() -> None:
    world = World()
    world.say(2)
    world.app.history.withdraw(world.session(), first=1)
    world.drain()
    world.append("again")
    assert world.shown() == ["again"]


def test_withdrawing_what_is_not_there_is_refused() -> None:
    world = World()
    world.append("hello")
    with pytest.raises(NotFound):
        world.app.history.withdraw(world.session(), first=9)


def test_an_emptied_window_keeps_the_history() -> None:
    world = World(max_tokens=600)
    world.say(30)
    world.app.history.empty(world.session())
    world.drain()
    world.append("fresh")
    assert world.shown() == ["fresh"]
    assert len(world.history()) == 61


def test_creating_twice_is_one_session_until_it_has_messages() -> None:
    world = World()
    wanted = Wanted(system={"role": "system", "content": "be brief"})
    _, created = world.app.manage.create(world.session(), user="sarah", agent=None, wanted=wanted)
    _, again = world.app.manage.create(world.session(), user="sarah", agent=None, wanted=wanted)
    assert (created, again) == (True, False)
    world.append("hello")
    with pytest.raises(Conflict):
        world.app.manage.create(world.session(), user="sarah", agent=None, wanted=wanted)


def test_patch_merges_and_put_replaces() -> None:
    world = World()
    wanted = Wanted(memory={"max_tokens": 5000, "trigger_ratio": 0.5}, metadata={"a": 1, "b": 2})
    world.app.manage.create(world.session(), user="sarah", agent=None, wanted=wanted)
    patched = world.app.manage.patch(world.session(), wanted=Wanted(memory={"max_tokens": 6000}, metadata={"a": None}))
    assert patched.settings.memory == {"strategy": "summarize", "max_tokens": 6000, "trigger_ratio": 0.5}
    assert patched.settings.metadata == {"b": 2}
    replaced, _ = world.app.manage.replace(world.session(), wanted=Wanted(memory={"max_tokens": 7000}))
    assert replaced.settings.memory == {"strategy": "summarize", "max_tokens": 7000}
    assert replaced.settings.metadata == {}


def test_sessions_are_listed_by_user_agent_and_status() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.append("hi", session=name)
        world.time.advance(1)
    world.append("hi", session="other", user="tom")
    world.app.manage.end(world.session("b"))
    world.app.manage.delete(world.session("c"))

    def listed(**asked: object) -> list[str]:
        query = {"user": "sarah", "agent": None, "status": None, "limit": 10, "after": None, "newest_first": True}
        found, _ = world.app.manage.listed(TENANT, **(query | asked))  # type: ignore[arg-type]
        return [session.id for session in found]

    assert listed() == ["b", "a"]
    assert listed(status="ended") == ["b"]
    assert listed(user=None) == ["other", "b", "a"]
    assert listed(agent="x") == []
    with pytest.raises(BadRequest):
        listed(after="nonsense")


def test_prune_fifo_drops_the_oldest_turns() -> None:
    world = World()
    world.say(20)
    world.app.prune(world.session(), strategy="fifo", max_tokens=100)
    head = world.app.manage.read(world.session()).head
    assert head.tokens <= 100
    assert len(world.history()) == 40


def test_prune_summarize_folds_all_but_the_recent_turns() -> None:
    world = World()
    world.say(20)
    job = world.app.prune(world.session(), strategy="summarize")
    assert job is not None
    world.drain()
    assert world.shown()[0].startswith("CONVERSATION SUMMARY")
    assert len(world.shown()) == 11


def test_withdrawing_all_that_follows_a_compaction_leaves_room_for_the_next_one() -> None:
    world = World(strategy="trim", max_tokens=600, max_memory_tokens=100)
    world.say(20)
    evicted = world.app.history.compactions(world.session(), limit=50)[0][-1].last
    world.app.history.withdraw(world.session(), first=evicted + 1)
    world.drain()
    world.say(40)
    assert world.app.manage.read(world.session()).head.window_start > evicted
