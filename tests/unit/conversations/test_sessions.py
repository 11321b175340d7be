"""Sessions that are made, deleted, made again, expire, are emptied and withdrawn from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.conversations.listing import ListSessions
from palimpsest.conversations.manage import SessionRequest
from palimpsest.errors import BadRequest, Conflict, NotFound, Unprocessable
from palimpsest.jobs.attempts import LONGEST_DELAY

from tests.service import TENANT
from tests.unit.conversations.service import ConversationService

DAY = 24 * 3600


def test_a_session_made_again_under_its_id_shows_nothing_old_and_loses_nothing_new() -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)
    pending = list(service.outbox)
    service.app.manage.delete(service.session())
    service.append("new life", key="k")
    for job in pending:
        service.handle(job)
    service.drain()
    assert service.shown() == ["new life"]
    assert len(service.history()) == 1
    assert min(service.history()) > 60


def test_a_wish_at_the_beginning_covers_the_next_turn_also_in_a_session_made_again() -> None:
    service = ConversationService()
    for _ in range(2):
        service.append("Forget what I just said.")
        (told,) = service.append("I live in Kiel.").messages
        assert told.is_off_record
        service.app.manage.delete(service.session())


def test_a_deleted_session_is_not_found_at_once_and_its_job_can_be_read() -> None:
    service = ConversationService()
    service.append("hello")
    job = service.app.manage.delete(service.session())
    with pytest.raises(NotFound):
        service.app.manage.read(service.session())
    service.drain()
    assert service.app.read_job(TENANT, job).state == "done"
    assert len(service.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 0


def test_a_replay_of_an_earlier_lifes_key_is_a_new_append() -> None:
    service = ConversationService()
    service.append("hello", key="k1")
    service.app.manage.delete(service.session())
    again = service.append("hello", key="k1")
    assert not again.replayed
    service.drain()
    assert service.append("hello", key="k1").replayed


def test_each_removal_of_a_session_that_an_import_brought_back_is_begun_again() -> None:
    service = ConversationService()
    service.say(1)
    first = service.job(service.app.manage.delete(service.session()))
    second = replace(first, id="job_of_the_life_that_was_imported")
    service.jobs.put(second)
    for job in (first, second):
        service.fail(job)
    service.time.advance(LONGEST_DELAY)
    before = len(service.outbox)
    service.sweep()
    assert len(service.outbox) == before + 2


def test_a_removal_that_failed_is_begun_again_by_the_sweep() -> None:
    service = ConversationService()
    service.append("hello")
    job_id = service.app.manage.delete(service.session())
    service.delivered = 1  # the queue lost it
    service.time.advance(3600)
    service.sweep()
    service.sweep()
    service.drain()
    assert service.app.read_job(TENANT, job_id).state == "done"
    assert service.outbox[-1].attempt == 1
    assert len(service.outbox) == 2
    assert len(service.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 0


def test_an_expired_session_is_gone_before_the_sweep_comes_and_removed_by_it() -> None:
    service = ConversationService()
    service.append("hello")
    service.time.advance(30 * DAY)
    with pytest.raises(NotFound):
        service.shown()
    service.sweep()
    service.drain()
    assert len(service.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 0


def test_activity_keeps_a_session() -> None:
    service = ConversationService()
    service.append("hello")
    service.time.advance(29 * DAY)
    service.append("still here")
    service.time.advance(2 * DAY)
    service.sweep()
    assert [text.split("\n")[-1] for text in service.shown()] == ["hello", "still here"]
    service.time.advance(29 * DAY)
    service.sweep()
    service.drain()
    with pytest.raises(NotFound):
        service.shown()


def test_a_session_begun_over_an_expired_one_has_nothing_of_it() -> None:
    service = ConversationService()
    service.append("old", key="k")
    service.time.advance(31 * DAY)
    service.append("new", key="k")
    service.drain()
    service.sweep()
    service.drain()
    assert service.shown() == ["new"]
    assert len(service.sessions.state.partitions["acme", "s"].messages.between(0, 10**9)) == 1


def test_withdrawing_takes_messages_out_of_window_and_history() -> None:
    service = ConversationService()
    service.say(3)
    service.app.history.withdraw(service.session(), first=5)
    assert service.history() == [1, 2, 3, 4]
    assert len(service.shown()) == 4
    service.drain()
    service.append("instead")
    assert service.history() == [1, 2, 3, 4, 7]
    head = service.app.manage.read(service.session()).head
    assert head.withdrawn == ()


def test_withdrawing_behind_a_summary_opens_what_it_stood_for() -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)
    service.drain()
    folded = service.app.history.compactions(service.session(), limit=1)[0][0].last
    service.app.history.withdraw(service.session(), first=folded)
    service.drain()
    head = service.app.manage.read(service.session()).head
    assert service.history() == list(range(1, folded))
    assert (head.summary, head.window_start) == (0, 1)
    service.say(20)
    service.drain()
    assert service.app.manage.read(service.session()).head.summary > 0


def test_withdrawing_everything_leaves_a_session_that_goes_on() -> None:
    service = ConversationService()
    service.say(2)
    service.app.history.withdraw(service.session(), first=1)
    service.drain()
    service.append("again")
    assert service.shown() == ["again"]


def test_withdrawing_what_is_not_there_is_refused() -> None:
    service = ConversationService()
    service.append("hello")
    with pytest.raises(NotFound):
        service.app.history.withdraw(service.session(), first=9)


def test_an_emptied_window_keeps_the_history() -> None:
    service = ConversationService(max_tokens=600)
    service.say(30)
    service.app.history.empty(service.session())
    service.drain()
    service.append("fresh")
    assert service.shown() == ["fresh"]
    assert len(service.history()) == 61


def test_creating_twice_is_one_session_until_it_has_messages() -> None:
    service = ConversationService()
    wanted = SessionRequest(system={"role": "system", "content": "be brief"})
    _, created = service.app.manage.create(
        service.session(), user="sarah", agent=None, wanted=wanted
    )
    _, again = service.app.manage.create(service.session(), user="sarah", agent=None, wanted=wanted)
    assert (created, again) == (True, False)
    service.append("hello")
    with pytest.raises(Conflict):
        service.app.manage.create(service.session(), user="sarah", agent=None, wanted=wanted)


def test_patch_merges_and_put_replaces() -> None:
    service = ConversationService()
    wanted = SessionRequest(
        memory={"max_tokens": 5000, "trigger_ratio": 0.5}, metadata={"a": 1, "b": 2}
    )
    service.app.manage.create(service.session(), user="sarah", agent=None, wanted=wanted)
    patched = service.app.manage.patch(
        service.session(), wanted=SessionRequest(memory={"max_tokens": 6000}, metadata={"a": None})
    )
    assert patched.settings.memory == {
        "strategy": "summarize",
        "max_tokens": 6000,
        "trigger_ratio": 0.5,
    }
    assert patched.settings.metadata == {"b": 2}
    replaced, _ = service.app.manage.replace(
        service.session(), wanted=SessionRequest(memory={"max_tokens": 7000})
    )
    assert replaced.settings.memory == {"strategy": "summarize", "max_tokens": 7000}
    assert replaced.settings.metadata == {}


def test_sessions_are_listed_by_user_agent_and_status() -> None:
    service = ConversationService()
    for name in ("a", "b", "c"):
        service.append("hi", session=name)
        service.time.advance(1)
    service.append("hi", session="other", user="tom")
    service.app.manage.end(service.session("b"))
    service.app.manage.delete(service.session("c"))

    def listed(**asked: object) -> list[str]:
        query = {
            "user": "sarah",
            "agent": None,
            "status": None,
            "limit": 10,
            "after": None,
            "newest_first": True,
        }
        found, _ = ListSessions(service.sessions, service.clock)(TENANT, **(query | asked))  # type: ignore[arg-type]
        return [session.id for session in found]

    assert listed() == ["b", "a"]
    assert listed(status="ended") == ["b"]
    assert listed(user=None) == ["other", "b", "a"]
    assert listed(agent="x") == []
    with pytest.raises(BadRequest):
        listed(after="nonsense")


def test_prune_fifo_drops_the_oldest_turns() -> None:
    service = ConversationService()
    service.say(20)
    service.app.prune(service.session(), strategy="fifo", max_tokens=100)
    head = service.app.manage.read(service.session()).head
    assert head.tokens <= 100
    assert len(service.history()) == 40


def test_prune_summarize_folds_all_but_the_recent_turns() -> None:
    service = ConversationService()
    service.say(20)
    assert service.app.prune(service.session(), strategy="summarize").job is not None
    service.drain()
    assert service.shown()[0].startswith("CONVERSATION SUMMARY")
    assert len(service.shown()) == 11


def test_what_was_cleared_stays_cleared_when_a_later_turn_is_withdrawn() -> None:
    service = ConversationService(max_tokens=600, trigger_ratio=0.5)
    service.say(20)
    service.drain()
    service.app.history.empty(service.session())
    cleared = service.head()
    service.say(1)
    service.app.history.withdraw(service.session(), first=cleared.seq + 1)
    service.drain()
    head = service.head()
    assert (head.window_messages, head.window_tokens, head.summary) == (0, 0, 0)
    assert (head.last_id, head.turn) == (cleared.last_id, cleared.turn)
    assert service.shown() == []
    assert service.history() == list(range(1, cleared.seq + 1))
    service.append("and now?")
    assert service.shown() == ["and now?"]
    assert service.append("again", role="assistant").messages[0].turn == cleared.turn + 1


def test_a_withdrawal_that_reaches_into_what_was_cleared_brings_nothing_back() -> None:
    service = ConversationService()
    service.say(5)
    service.app.history.empty(service.session())
    service.say(1)
    service.app.history.withdraw(service.session(), first=7)
    service.drain()
    assert service.history() == [1, 2, 3, 4, 5, 6]
    assert (service.shown(), service.head().window_start) == ([], 7)


def test_withdrawing_all_that_follows_a_compaction_leaves_room_for_the_next_one() -> None:
    service = ConversationService(strategy="trim", max_tokens=600, max_memory_tokens=100)
    service.say(20)
    evicted = service.app.history.compactions(service.session(), limit=50)[0][-1].last
    service.app.history.withdraw(service.session(), first=evicted + 1)
    service.drain()
    service.say(40)
    assert service.app.manage.read(service.session()).head.window_start > evicted


def test_a_flush_that_stores_nothing_needs_no_long_term_memory() -> None:
    manage = ConversationService().app.manage
    bare = SessionRequest(memory={"strategy": "flush", "blocks": []})
    assert manage.create(TENANT.session("bare"), user="sarah", agent=None, wanted=bare)[1]
    for flush in ({"strategy": "flush"}, {"strategy": "flush", "blocks": [{"type": "static"}]}):
        with pytest.raises(Unprocessable) as refused:
            manage.create(
                TENANT.session("other"),
                user="sarah",
                agent=None,
                wanted=SessionRequest(memory=flush),
            )
        assert refused.value.code == "no_long_term_memory"
