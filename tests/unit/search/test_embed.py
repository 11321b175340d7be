"""The index becomes what the tables say, in whatever order changes arrive and whatever fails on the
way.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from palimpsest.clock import seconds
from palimpsest.conversations.payloads import RemovalPayload
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable, Unavailable
from palimpsest.jobs.events import Changed, MessageChanged, RecordChanged
from palimpsest.jobs.job import armed
from palimpsest.memory.filters import MemoryFilter
from palimpsest.scope import UserScope
from palimpsest.search.embed import Embed
from palimpsest.search.ports import Document, Gone

from tests.service import DAVID, DAY, SARAH
from tests.unit.recall.service import RecallService


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path)


def words(service: RecallService, text: str, *, owner: Any = SARAH) -> list[str]:
    return [hit.key for hit in service.index.by_words(owner, text, k=20)]


def near(service: RecallService, text: str) -> list[str]:
    vector = service.embedder.embed([text])[0]
    hits = service.index.by_vector(SARAH, vector, k=20)
    return [hit.key for hit in hits if hit.score > 0.3]


def test_a_record_is_found_by_words_and_by_meaning(service: RecallService) -> None:
    record = service.keep(
        "Dana is my manager", keywords=("hierarchy",), queries=("Who leads Sarah?",)
    )
    assert service.index_all() == ()
    assert (
        words(service, "Dana")
        == words(service, "hierarchy")
        == words(service, "leads")
        == [record.id]
    )
    assert near(service, "the boss is Dana") == [record.id]


def test_what_is_indexed_is_marked_so(service: RecallService) -> None:
    record = service.keep("likes tea")
    service.index_all()
    assert service.memories.records(SARAH, [record.id])[0].index_state == "done"


def test_a_message_is_found_with_its_speaker_and_by_what_it_answers(service: RecallService) -> None:
    service.say("Where do you work?", "In Lisbon.", role=("assistant", "user"))
    service.index_all()
    assert words(service, "Lisbon") == ["talk/2"]
    assert words(service, "work")[0] == "talk/1"
    assert "talk/2" in words(service, "work")


def test_an_answer_is_found_by_the_question_although_tools_stand_between(
    service: RecallService,
) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look_up", "arguments": '{"form": "HR-101"}'},
    }
    chats: list[dict[str, Any]] = [
        {"role": "user", "content": "How long is my notice period?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"weeks": 8}'},
        {"role": "assistant", "content": "Eight weeks."},
    ]
    service.say(chats=chats)
    service.index_all()
    assert {"talk/1", "talk/4"} <= set(words(service, "notice"))
    assert words(service, "HR-101") == ["talk/2"]


def test_a_message_is_found_by_two_that_were_said_before_it_and_by_weekday_and_month(
    service: RecallService,
) -> None:
    service.say(
        "About parking.",
        "Which zone?",
        "I mean the garage.",
        "B.",
        role=("user", "assistant", "user", "assistant"),
    )
    service.index_all()
    assert "talk/3" in words(service, "parking")
    assert "talk/4" in words(service, "zone")
    assert "talk/4" not in words(service, "parking")
    assert (
        words(service, f"{service.time.now():%B}")
        == words(service, f"{service.time.now():%A}")
        != []
    )


def cosines(service: RecallService, text: str) -> dict[str, float]:
    vector = service.embedder.embed([text])[0]
    return {hit.key: hit.score for hit in service.index.by_vector(SARAH, vector, k=20)}


def test_a_messages_vector_leans_to_what_was_said_right_before_it(service: RecallService) -> None:
    service.say(
        "Where do you work?", "In Lisbon.", "Splendid.", role=("assistant", "user", "assistant")
    )
    service.index_all()
    asked, own = cosines(service, "Where do you work?"), cosines(service, "In Lisbon.")
    assert asked["talk/1"] == pytest.approx(1)
    assert 0.2 < asked["talk/2"] < 0.4
    assert 0.9 < own["talk/2"] < 1
    assert asked["talk/3"] == pytest.approx(0, abs=0.01)


def test_the_vectors_of_tool_calls_and_tools_are_their_own(service: RecallService) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look_up", "arguments": '{"form": "HR-101"}'},
    }
    service.say(
        chats=[
            {"role": "user", "content": "Where do you work?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "In Lisbon."},
        ]
    )
    service.index_all()
    assert cosines(service, "In Lisbon.")["talk/3"] == pytest.approx(1)
    assert cosines(service, "Where do you work?")["talk/2"] == pytest.approx(0, abs=0.1)


def test_a_message_has_its_own_vector_where_what_was_said_before_gets_none(
    service: RecallService,
) -> None:
    service.embedder.refused = {"work": ModelFailed("refused", code="model_refused_request")}
    service.say("Where do you work?", "In Lisbon.", role=("assistant", "user"))
    service.index_all()
    assert cosines(service, "In Lisbon.") == {"talk/2": pytest.approx(1)}


def test_a_tools_long_output_is_found_by_its_beginning(service: RecallService) -> None:
    output = "order VM-90117 " + "filler " * 1_000 + "needle"
    service.say(chats=[{"role": "tool", "tool_call_id": "c", "content": output}])
    service.index_all()
    assert words(service, "VM-90117") == ["talk/1"]
    assert words(service, "needle") == []


def test_system_messages_and_recalled_memories_are_not_indexed(service: RecallService) -> None:
    service.say("You are a helpful assistant.", role="system")
    service.say("[User Memory]\n- likes tea", role="tool")
    service.say("<memory><static_memory>likes tea</static_memory></memory>")
    assert service.index_all() == ()
    assert service.indexed() == 0


def test_tasks_are_found_by_their_words_alone(service: RecallService) -> None:
    record = service.keep("book the flight", type="task")
    assert service.index_all() == ()
    assert words(service, "flight") == [record.id]
    assert service.embedder.asked == []
    assert near(service, "flight") == []
    assert service.memories.records(SARAH, [record.id])[0].index_state == "done"


def test_only_the_newest_version_of_a_topic_is_indexed(service: RecallService) -> None:
    old = service.keep("works at Acme", topic="employer")
    service.index_all()
    new = service.keep("works at Bolt", topic="employer")
    service.index_all()
    assert words(service, "works") == [new.id]
    assert service.memories.records(SARAH, [old.id])[0].index_state == "done"


def test_the_newer_versions_change_alone_takes_the_older_one_out(service: RecallService) -> None:
    service.keep("works at Acme", topic="employer")
    service.index_all()
    new = service.keep("works at Bolt", topic="employer")
    service.pending = [RecordChanged("acme", "sarah", new.id)]
    service.index_all()
    assert words(service, "works") == [new.id]


def test_a_statement_that_arrives_late_is_not_indexed(service: RecallService) -> None:
    new = service.keep("works at Bolt", topic="employer")
    service.keep("works at Acme", topic="employer", valid_from=service.now - DAY * 1000)
    service.index_all()
    assert words(service, "works") == [new.id]


def test_a_deleted_record_goes_and_a_late_write_does_not_bring_it_back(
    service: RecallService,
) -> None:
    record = service.keep("likes tea")
    service.index_all()
    written = service.index.writes[-1]
    service.manage.delete(SARAH, record.id)
    service.embed([RecordChanged("acme", "sarah", record.id)])
    assert words(service, "tea") == []
    assert service.index.write(UserScope("acme", "sarah"), written) == ()
    assert words(service, "tea") == []


def test_what_is_said_again_after_its_deletion_is_found_again(service: RecallService) -> None:
    record = service.keep("likes tea")
    service.index_all()
    service.manage.delete(SARAH, record.id)
    service.embed([RecordChanged("acme", "sarah", record.id)])
    service.time.advance(1)
    again = service.keep("likes tea")
    service.index_all()
    assert words(service, "tea") == [again.id]


def test_an_expired_record_goes(service: RecallService) -> None:
    record = service.keep("likes tea")
    service.index_all()
    service.time.advance(366 * DAY)
    service.embed([RecordChanged("acme", "sarah", record.id)])
    assert words(service, "tea") == []


def test_messages_of_a_deleted_session_go_while_they_are_still_stored(
    service: RecallService,
) -> None:
    messages = service.say("I like tea", "I like cake")
    service.index_all()
    service.mark_deleted()
    service.embed([MessageChanged("acme", "talk", message.seq) for message in messages])
    assert service.indexed() == 0


def test_messages_of_an_expired_session_and_withdrawn_ones_are_not_indexed(
    service: RecallService,
) -> None:
    service.say("I like tea", "I like cake", session="old")
    service.change_head("old", expires_at=seconds(service.time.now()))
    service.say("I like tea", "I like cake", session="other")
    service.change_head("other", withdrawn=((2, 2),))
    service.index_all()
    assert words(service, "like") == ["other/1"]


def test_a_session_made_again_shows_nothing_of_its_earlier_life(service: RecallService) -> None:
    old = service.say("I like tea")
    service.mark_deleted()
    service.say("I like cake")
    service.embed([*service.pending, MessageChanged("acme", "talk", old[0].seq)])
    assert words(service, "like") == ["talk/3"]


def test_a_session_that_nobody_knows_is_done_with(service: RecallService) -> None:
    assert service.embed([MessageChanged("acme", "never", 1)]) == ()


def test_each_owners_things_go_to_the_owner(service: RecallService) -> None:
    mine = service.keep("likes tea")
    other = service.keep("likes tea", scope=DAVID)
    service.say("tea it is", session="davids", user="david")
    service.index_all()
    assert words(service, "tea") == [mine.id]
    assert set(words(service, "tea", owner=DAVID)) == {other.id, "davids/1"}


def test_changes_in_any_order_and_as_often_as_one_likes_end_in_the_same_index(
    service: RecallService, tmp_path: Path
) -> None:
    chance = random.Random(4)
    every: list[Changed] = []
    for step in range(12):
        service.time.advance(1)
        record = service.keep(f"works at number{step}", topic=f"employer {step % 3}")
        if step % 5 == 4:
            service.manage.delete(SARAH, record.id)
        every += service.pending
        chance.shuffle(every)
        service.embed(every[: chance.randrange(len(every) + 1)])
        service.pending = []
    service.embed([*every, *every])
    current = {
        record.id for record in service.manage.listed(SARAH, where=MemoryFilter(), limit=99)[0]
    }
    assert set(words(service, "works at number")) == current
    assert current


def test_equal_texts_are_embedded_once(service: RecallService) -> None:
    service.keep("likes tea")
    service.keep("likes tea", topic="drink")
    service.keep("likes tea", scope=DAVID)
    service.index_all()
    assert service.embedder.asked == [["likes tea"]] * 2, "once for each user, who pays for it"


def test_only_what_could_not_be_written_is_tried_again(service: RecallService) -> None:
    records = [service.keep(f"fact {number}") for number in range(10)]
    service.index.unwritable = {records[3].id}
    assert service.index_all() == (RecordChanged("acme", "sarah", records[3].id),)
    assert service.memories.records(SARAH, [records[3].id])[0].index_state == "pending"
    service.index.unwritable = set()
    assert service.embed([RecordChanged("acme", "sarah", records[3].id)]) == ()
    assert len(words(service, "fact")) == 10


def test_with_the_index_down_everything_is_tried_again(service: RecallService) -> None:
    service.keep("likes tea")
    service.say("hello there")
    waiting = tuple(service.pending)
    service.index.down = True
    assert service.index_all() == waiting
    service.index.down = False
    assert service.embed(waiting) == ()
    assert service.indexed() == 2


def test_a_crash_after_the_index_was_written_ends_in_one_document(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = service.keep("likes tea")
    waiting = tuple(service.pending)
    with monkeypatch.context() as patch:
        patch.setattr(service.memories, "mark_indexed", _unavailable)
        assert service.index_all() == waiting
    assert service.embed(waiting) == ()
    assert words(service, "tea") == [record.id]
    assert service.indexed() == 1


def _unavailable(*args: Any) -> None:
    raise Unavailable("The store did not answer.")


def test_one_owners_trouble_is_not_another_ones(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = service.keep("likes tea"), service.keep("likes cake", scope=DAVID)
    read = service.memories.records

    def failing(scope: Any, ids: Any) -> Any:
        if scope == DAVID:
            raise Unavailable("The store did not answer.")
        return read(scope, ids)

    monkeypatch.setattr(service.memories, "records", failing)
    assert service.index_all() == (RecordChanged("acme", "david", other.id),)
    assert words(service, "likes") == [mine.id]


@pytest.mark.parametrize(
    "failure", [ModelUnavailable("busy"), ModelOutputInvalid("garbage"), ModelFailed("no")]
)
def test_without_a_vector_the_words_are_indexed_and_the_vector_comes_later(
    service: RecallService, failure: Exception
) -> None:
    record = service.keep("Dana is my manager")
    waiting = tuple(service.pending)
    service.embedder.failure = failure
    assert service.index_all() == waiting
    assert words(service, "Dana") == [record.id]
    assert service.memories.records(SARAH, [record.id])[0].index_state == "pending"
    service.embedder.failure = None
    assert service.embed(waiting) == ()
    assert near(service, "boss Dana") == [record.id]


def test_words_alone_do_not_replace_a_vector_that_is_there(service: RecallService) -> None:
    record = service.keep("Dana is my manager")
    service.index_all()
    service.embedder.failure = ModelUnavailable("busy")
    service.embed([RecordChanged("acme", "sarah", record.id)])
    service.embedder.failure = None
    assert near(service, "boss Dana") == [record.id]


def test_a_text_that_the_model_refuses_holds_up_no_other(service: RecallService) -> None:
    records = [service.keep(text) for text in ("likes tea", "poison", "likes cake")]
    service.embedder.refused = {"poison": ModelFailed("refused", code="model_refused_request")}
    assert service.index_all() == (RecordChanged("acme", "sarah", records[1].id),)
    assert near(service, "likes tea") == [records[0].id, records[2].id]
    assert words(service, "poison") == [records[1].id]


def test_without_an_embedder_words_are_enough(service: RecallService) -> None:
    record = service.keep("likes tea")
    embed = Embed(service.memories, service.sessions, service.index, None, service.time)
    assert embed(service.pending) == ()
    assert words(service, "tea") == [record.id]
    assert service.memories.records(SARAH, [record.id])[0].index_state == "done"
    service.index_all()  # there is one by now: the same document gets its vector
    assert near(service, "tea") == [record.id]


def test_a_user_who_is_erased_while_we_write_leaves_nothing_behind(service: RecallService) -> None:
    record = service.keep("likes tea")

    def erase() -> None:
        service.index.before_write = None
        job = armed(
            tenant="acme",
            kind="delete",
            payload=RemovalPayload(),
            session="x",
            first=1,
            last=1,
            now=seconds(service.time.now()),
        )
        service.memories.erase(SARAH, epoch=0, job=job)

    service.index.before_write = erase
    assert service.index_all() == ()
    assert words(service, "tea") == []
    service.time.advance(1)
    again = service.keep("likes tea")
    service.index_all()
    assert words(service, "tea") == [again.id] == [record.id]


def test_documents_carry_what_is_filtered_by(service: RecallService) -> None:
    service.keep(
        "likes tea", subject="Sarah", agent="hr", importance=0.8, metadata={"team": "x", "level": 3}
    )
    service.say("hello", metadata={"channel": "web"}, agent="hr", session="s2")
    service.index_all()
    (record,), (message,) = (
        [c for c in batch if isinstance(c, Document)] for batch in service.index.writes
    )
    assert (record.subject, record.agent, record.importance) == ("sarah", "hr", 0.8)
    assert all(
        test.passes(record.metadata)
        for test in MemoryFilter(metadata={"team": "x", "level": 3}).tests
    )
    assert not any(
        test.passes(record.metadata)
        for test in MemoryFilter(metadata={"level": 4}, topic="team").tests
    )
    assert (message.session, message.agent, message.metadata) == ("s2", "hr", ("channel=web",))
    assert not any(isinstance(change, Gone) for batch in service.index.writes for change in batch)
