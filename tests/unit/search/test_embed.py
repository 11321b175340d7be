"""The index becomes what the tables say, in whatever order changes arrive and whatever fails on the way."""

import random
from pathlib import Path
from typing import Any

import pytest
from palimpsest.clock import seconds
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable, Unavailable
from palimpsest.jobs.job import armed
from palimpsest.jobs.kinds import RemovalPayload
from palimpsest.jobs.ports import Changed, MessageChanged, RecordChanged
from palimpsest.memory.filters import Filter
from palimpsest.scope import UserScope
from palimpsest.search.embed import Embed
from palimpsest.search.ports import Document, Gone

from tests.unit.recall.recall_world import DAVID, DAY, SARAH, RecallWorld


@pytest.fixture
def world(tmp_path: Path) -> RecallWorld:
    return RecallWorld(tmp_path)


def words(world: RecallWorld, text: str, *, owner: Any = SARAH) -> list[str]:
    return [hit.key for hit in world.index.by_words(owner, text, k=20)]


def near(world: RecallWorld, text: str) -> list[str]:
    vector = world.embedder.embed([text])[0]
    hits = world.index.by_vector(SARAH, vector, k=20)
    return [hit.key for hit in hits if hit.score > 0.3]


def test_a_record_is_found_by_words_and_by_meaning(world: RecallWorld) -> None:
    record = world.keep("Dana is my manager", keywords=("hierarchy",), queries=("Who leads Sarah?",))
    assert world.index_all() == ()
    assert words(world, "Dana") == words(world, "hierarchy") == words(world, "leads") == [record.id]
    assert near(world, "the boss is Dana") == [record.id]


def test_what_is_indexed_is_marked_so(world: RecallWorld) -> None:
    record = world.keep("likes tea")
    world.index_all()
    assert world.memories.records(SARAH, [record.id])[0].index_state == "done"


def test_a_message_is_found_with_its_speaker_and_by_what_it_answers(world: RecallWorld) -> None:
    world.say("Where do you work?", "In Lisbon.", role=("assistant", "user"))
    world.index_all()
    assert words(world, "Lisbon") == ["talk/2"]
    assert words(world, "work")[0] == "talk/1"
    assert "talk/2" in words(world, "work")


def test_an_answer_is_found_by_the_question_although_tools_stand_between(world: RecallWorld) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"form": "HR-101"}'}}
    chats: list[dict[str, Any]] = [
        {"role": "user", "content": "How long is my notice period?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"weeks": 8}'},
        {"role": "assistant", "content": "Eight weeks."},
    ]
    world.say(chats=chats)
    world.index_all()
    assert {"talk/1", "talk/4"} <= set(words(world, "notice"))
    assert words(world, "HR-101") == ["talk/2"]


def test_a_tools_long_output_is_found_by_its_beginning(world: RecallWorld) -> None:
    output = "order VM-90117 " + "filler " * 1_000 + "needle"
    world.say(chats=[{"role": "tool", "tool_call_id": "c", "content": output}])
    world.index_all()
    assert words(world, "VM-90117") == ["talk/1"]
    assert words(world, "needle") == []


def test_system_messages_and_recalled_memories_are_not_indexed(world: RecallWorld) -> None:
    world.say("You are a helpful assistant.", role="system")
    world.say("[User Memory]\n- likes tea", role="tool")
    world.say("<memory><static_memory>likes tea</static_memory></memory>")
    assert world.index_all() == ()
    assert world.indexed() == 0


def test_tasks_are_found_by_their_words_alone(world: RecallWorld) -> None:
    record = world.keep("book the flight", type="task")
    assert world.index_all() == ()
    assert words(world, "flight") == [record.id]
    assert world.embedder.asked == []
    assert near(world, "flight") == []
    assert world.memories.records(SARAH, [record.id])[0].index_state == "done"


def test_only_the_newest_version_of_a_topic_is_indexed(world: RecallWorld) -> None:
    old = world.keep("works at Acme", topic="employer")
    world.index_all()
    new = world.keep("works at Bolt", topic="employer")
    world.index_all()
    assert words(world, "works") == [new.id]
    assert world.memories.records(SARAH, [old.id])[0].index_state == "done"


def test_the_newer_versions_change_alone_takes_the_older_one_out(world: RecallWorld) -> None:
    world.keep("works at Acme", topic="employer")
    world.index_all()
    new = world.keep("works at Bolt", topic="employer")
    world.pending = [RecordChanged("acme", "sarah", new.id)]
    world.index_all()
    assert words(world, "works") == [new.id]


def test_a_statement_that_arrives_late_is_not_indexed(world: RecallWorld) -> None:
    new = world.keep("works at Bolt", topic="employer")
    world.keep("works at Acme", topic="employer", valid_from=world.now - DAY * 1000)
    world.index_all()
    assert words(world, "works") == [new.id]


def test_a_deleted_record_goes_and_a_late_write_does_not_bring_it_back(world: RecallWorld) -> None:
    record = world.keep("likes tea")
    world.index_all()
    written = world.index.writes[-1]
    world.manage.delete(SARAH, record.id)
    world.embed([RecordChanged("acme", "sarah", record.id)])
    assert words(world, "tea") == []
    assert world.index.write(UserScope("acme", "sarah"), written) == ()
    assert words(world, "tea") == []


def test_what_is_said_again_after_its_deletion_is_found_again(world: RecallWorld) -> None:
    record = world.keep("likes tea")
    world.index_all()
    world.manage.delete(SARAH, record.id)
    world.embed([RecordChanged("acme", "sarah", record.id)])
    world.time.advance(1)
    again = world.keep("likes tea")
    world.index_all()
    assert words(world, "tea") == [again.id]


def test_an_expired_record_goes(world: RecallWorld) -> None:
    record = world.keep("likes tea")
    world.index_all()
    world.time.advance(366 * DAY)
    world.embed([RecordChanged("acme", "sarah", record.id)])
    assert words(world, "tea") == []


def test_messages_of_a_deleted_session_go_while_they_are_still_stored(world: RecallWorld) -> None:
    messages = world.say("I like tea", "I like cake")
    world.index_all()
    world.bury()
    world.embed([MessageChanged("acme", "talk", message.seq) for message in messages])
    assert world.indexed() == 0


def test_messages_of_an_expired_session_and_withdrawn_ones_are_not_indexed(world: RecallWorld) -> None:
    world.say("I like tea", "I like cake", session="old")
    world.change_head("old", expires_at=seconds(world.time.now()))
    world.say("I like tea", "I like cake", session="other")
    world.change_head("other", withdrawn=((2, 2),))
    world.index_all()
    assert words(world, "like") == ["other/1"]


def test_a_session_made_again_shows_nothing_of_its_earlier_life(world: RecallWorld) -> None:
    old = world.say("I like tea")
    world.bury()
    world.say("I like cake")
    world.embed([*world.pending, MessageChanged("acme", "talk", old[0].seq)])
    assert words(world, "like") == ["talk/3"]


def test_a_session_that_nobody_knows_is_done_with(world: RecallWorld) -> None:
    assert world.embed([MessageChanged("acme", "never", 1)]) == ()


def test_each_owners_things_go_to_the_owner(world: RecallWorld) -> None:
    mine = world.keep("likes tea")
    other = world.keep("likes tea", scope=DAVID)
    world.say("tea it is", session="davids", user="david")
    world.index_all()
    assert words(world, "tea") == [mine.id]
    assert set(words(world, "tea", owner=DAVID)) == {other.id, "davids/1"}


def test_changes_in_any_order_and_as_often_as_one_likes_end_in_the_same_index(
    world: RecallWorld, tmp_path: Path
) -> None:
    chance = random.Random(4)
    every: list[Changed] = []
    for step in range(12):
        world.time.advance(1)
        record = world.keep(f"works at number{step}", topic=f"employer {step % 3}")
        if step % 5 == 4:
            world.manage.delete(SARAH, record.id)
        every += world.pending
        chance.shuffle(every)
        world.embed(every[: chance.randrange(len(every) + 1)])
        world.pending = []
    world.embed([*every, *every])
    current = {record.id for record in world.manage.listed(SARAH, where=Filter(), limit=99)[0]}
    assert set(words(world, "works at number")) == current
    assert current


def test_equal_texts_are_embedded_once(world: RecallWorld) -> None:
    world.keep("likes tea")
    world.keep("likes tea", scope=DAVID)
    world.index_all()
    assert world.embedder.asked == [["likes tea"]]


def test_only_what_could_not_be_written_is_tried_again(world: RecallWorld) -> None:
    records = [world.keep(f"fact {number}") for number in range(10)]
    world.index.unwritable = {records[3].id}
    assert world.index_all() == (RecordChanged("acme", "sarah", records[3].id),)
    assert world.memories.records(SARAH, [records[3].id])[0].index_state == "pending"
    world.index.unwritable = set()
    assert world.embed([RecordChanged("acme", "sarah", records[3].id)]) == ()
    assert len(words(world, "fact")) == 10


def test_with_the_index_down_everything_is_tried_again(world: RecallWorld) -> None:
    world.keep("likes tea")
    world.say("hello there")
    waiting = tuple(world.pending)
    world.index.down = True
    assert world.index_all() == waiting
    world.index.down = False
    assert world.embed(waiting) == ()
    assert world.indexed() == 2


def test_a_crash_after_the_index_was_written_ends_in_one_document(
    world: RecallWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = world.keep("likes tea")
    waiting = tuple(world.pending)
    with monkeypatch.context() as patch:
        patch.setattr(world.memories, "indexed", _unavailable)
        assert world.index_all() == waiting
    assert world.embed(waiting) == ()
    assert words(world, "tea") == [record.id]
    assert world.indexed() == 1


def _unavailable(*args: Any) -> None:
    raise Unavailable("The store did not answer.")


def test_one_owners_trouble_is_not_another_ones(world: RecallWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = world.keep("likes tea"), world.keep("likes cake", scope=DAVID)
    read = world.memories.records

    def failing(scope: Any, ids: Any) -> Any:
        if scope == DAVID:
            raise Unavailable("The store did not answer.")
        return read(scope, ids)

    monkeypatch.setattr(world.memories, "records", failing)
    assert world.index_all() == (RecordChanged("acme", "david", other.id),)
    assert words(world, "likes") == [mine.id]


@pytest.mark.parametrize("failure", [ModelUnavailable("busy"), ModelOutputInvalid("garbage"), ModelFailed("no")])
def test_without_a_vector_the_words_are_indexed_and_the_vector_comes_later(
    world: RecallWorld, failure: Exception
) -> None:
    record = world.keep("Dana is my manager")
    waiting = tuple(world.pending)
    world.embedder.failure = failure
    assert world.index_all() == waiting
    assert words(world, "Dana") == [record.id]
    assert world.memories.records(SARAH, [record.id])[0].index_state == "pending"
    world.embedder.failure = None
    assert world.embed(waiting) == ()
    assert near(world, "boss Dana") == [record.id]


def test_words_alone_do_not_replace_a_vector_that_is_there(world: RecallWorld) -> None:
    record = world.keep("Dana is my manager")
    world.index_all()
    world.embedder.failure = ModelUnavailable("busy")
    world.embed([RecordChanged("acme", "sarah", record.id)])
    world.embedder.failure = None
    assert near(world, "boss Dana") == [record.id]


def test_a_text_that_the_model_refuses_holds_up_no_other(world: RecallWorld) -> None:
    records = [world.keep(text) for text in ("likes tea", "poison", "likes cake")]
    world.embedder.refused = {"poison": ModelFailed("refused", code="model_refused_request")}
    assert world.index_all() == (RecordChanged("acme", "sarah", records[1].id),)
    assert near(world, "likes tea") == [records[0].id, records[2].id]
    assert words(world, "poison") == [records[1].id]


def test_without_an_embedder_words_are_enough(world: RecallWorld) -> None:
    record = world.keep("likes tea")
    embed = Embed(world.memories, world.sessions, world.index, None, world.time)
    assert embed(world.pending) == ()
    assert words(world, "tea") == [record.id]
    assert world.memories.records(SARAH, [record.id])[0].index_state == "done"
    world.index_all()  # there is one by now: the same document gets its vector
    assert near(world, "tea") == [record.id]


def test_a_user_who_is_erased_while_we_write_leaves_nothing_behind(world: RecallWorld) -> None:
    record = world.keep("likes tea")

    def erase() -> None:
        world.index.before_write = None
        job = armed(
            tenant="acme",
            kind="delete",
            payload=RemovalPayload(),
            session="x",
            first=1,
            last=1,
            now=seconds(world.time.now()),
        )
        world.memories.erase(SARAH, epoch=0, job=job)

    world.index.before_write = erase
    assert world.index_all() == ()
    assert words(world, "tea") == []
    world.time.advance(1)
    again = world.keep("likes tea")
    world.index_all()
    assert words(world, "tea") == [again.id] == [record.id]


def test_documents_carry_what_is_filtered_by(world: RecallWorld) -> None:
    world.keep("likes tea", subject="Sarah", agent="hr", importance=0.8, metadata={"team": "x", "level": 3})
    world.say("hello", metadata={"channel": "web"}, agent="hr", session="s2")
    world.index_all()
    (record,), (message,) = ([c for c in batch if isinstance(c, Document)] for batch in world.index.writes)
    assert (record.subject, record.agent, record.importance) == ("Sarah", "hr", 0.8)
    assert set(record.metadata) == {"team=x", "level=3"}
    assert (message.session, message.agent, message.metadata) == ("s2", "hr", ("channel=web",))
    assert not any(isinstance(change, Gone) for batch in world.index.writes for change in batch)
