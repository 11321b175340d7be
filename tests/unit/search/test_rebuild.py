"""The index is built anew beside the one that is read, resumes after a kill, and takes its place at
the end.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from palimpsest.errors import ModelFailed, ModelUnavailable, Unavailable
from palimpsest.jobs.events import MessageChanged, RecordChanged
from palimpsest.memory.filters import MemoryFilter
from palimpsest.recall.question import RecallRequest
from palimpsest.recall.recall import Recall
from palimpsest.scope import Scope, UserScope
from palimpsest.search import rebuild as reindex
from palimpsest.search.embed import Embed
from palimpsest.search.payloads import ReindexPayload
from palimpsest.search.rebuild import Reindex
from palimpsest_local.embedded.index import EmbeddedIndex

from tests.doubles.failing_index import FailingIndex
from tests.doubles.meanings import Meanings
from tests.doubles.owned_index import OwnedIndex
from tests.service import DAVID, SARAH
from tests.unit.recall.service import RecallService, Words, restored

MOST_STEPS = 200


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    service = RecallService(tmp_path)
    for number in range(7):
        service.say(
            *(f"message {number} {place}" for place in range(number + 1)), session=f"s{number}"
        )
    service.say("hello from david", session="davids", user="david")
    for number in range(9):
        service.keep(f"fact number {number}", topic="counter" if number > 5 else None)
    service.keep("fact of david", scope=DAVID)
    service.index_all()
    return service


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindex, "PAGE", 4)
    monkeypatch.setattr(reindex, "LOOKED_AT", 2)


def run(use: Reindex, state: ReindexPayload, *, steps: int = MOST_STEPS) -> ReindexPayload:
    """Step after step, each from what was kept of the one before."""
    for _ in range(steps):
        if state.is_done:
            return state
        state = restored(use(state))
    return state


def everything(index: FailingIndex | EmbeddedIndex, owner: str = "sarah") -> set[str]:
    part = OwnedIndex(index, UserScope("acme", owner))
    return {hit.key for text in ("message", "fact", "hello") for hit in part.by_words(text, k=100)}


def test_a_rebuilt_index_holds_what_the_old_one_held(service: RecallService) -> None:
    before, others = everything(service.index), everything(service.index, "david")
    (old,) = service.index.indexes()
    done = run(service.reindex, ReindexPayload())
    assert done.is_done
    assert everything(service.index) == before
    assert everything(service.index, "david") == others
    assert len(before) == 28 + 7  # seven facts hold, two were displaced
    assert service.index.indexes() != (old,)
    assert done.indexed == 29 + 10


def test_until_the_end_the_old_index_is_read(service: RecallService) -> None:
    state = service.reindex(ReindexPayload())
    (read, built) = service.index.indexes()
    while state.phase != "switch":
        assert service.index.indexes() == (read, built)
        assert everything(service.index)
        state = service.reindex(state)
    service.reindex(state)
    assert service.index.indexes() == (built,)


def test_every_step_may_be_cut_off_and_done_again(service: RecallService) -> None:
    before = everything(service.index)
    state = ReindexPayload()
    while not state.is_done:
        service.reindex(state)  # killed before its state was kept
        state = restored(service.reindex(state))
    assert everything(service.index) == before
    assert len(service.index.indexes()) == 1


def test_what_is_written_and_deleted_meanwhile_is_in_the_new_index(service: RecallService) -> None:
    facts = [
        record
        for record in service.memories.listed(SARAH, limit=50).records
        if record.topic_key is None
    ]
    state = ReindexPayload()
    step = 0
    while not state.is_done:
        state = service.reindex(state)
        service.time.advance(1)
        service.keep(f"fact that came in step {step}")
        service.say(f"message in step {step}", session=f"new{step % 3}")
        if step < len(facts):
            service.manage.delete(SARAH, facts[step].id)
            service.pending.append(RecordChanged("acme", "sarah", facts[step].id))
        service.index_all()
        step += 1
    expected = _expected(service)
    assert everything(service.index) == expected
    assert len(expected) > 30


def _expected(service: RecallService) -> set[str]:
    """What a fresh index of the same tables holds."""
    records, _ = service.manage.listed(SARAH, where=MemoryFilter(), limit=99)
    found = {record.id for record in records}
    for name in service.sessions.listed(SARAH.owner, user="sarah", limit=99).sessions:
        said = service.sessions.messages(SARAH.owner.session(name), first=1, last=99)
        found |= {f"{name}/{message.seq}" for message in said}
    return found


def test_another_models_index_is_built_while_the_old_one_answers_and_vectors_are_never_mixed(
    service: RecallService, tmp_path: Path
) -> None:
    newer = Meanings("newer-model", 64)
    index = FailingIndex(EmbeddedIndex(tmp_path / "index.sqlite", space=newer.space))
    embed = Embed(service.memories, service.sessions, index, newer, service.time)
    use = Reindex(service.owners, service.memories, service.sessions, index, embed)
    recall = Recall(service.memories, service.sessions, index, index, newer, Words(), service.time)
    state = run(use, ReindexPayload(), steps=4)
    assert not state.is_done
    during = recall(SARAH, RecallRequest("message 6 3", rerank=False))
    assert (during.degraded, bool(during.memories)) == (("vector",), True)
    assert service.recall("message 6 3").degraded == ()  # whoever still has the old model
    assert run(use, state).is_done
    assert recall(SARAH, RecallRequest("message 6 3", rerank=False)).degraded == ()
    assert service.recall("message 6 3").degraded == ("vector",)
    assert [name.rpartition(".")[0] for name in index.indexes()] == ["newer-model-64"]


def test_a_page_that_cannot_be_indexed_stops_it_and_nothing_is_skipped(
    service: RecallService,
) -> None:
    state = service.reindex(ReindexPayload())
    service.index.down = True
    with pytest.raises(Unavailable):
        service.reindex(state)
    service.index.down = False
    service.index.unwritable = {"s3/2"}
    with pytest.raises(Unavailable):
        run(service.reindex, state)
    service.index.unwritable = set()
    before = everything(service.index)
    assert run(service.reindex, state).is_done
    assert everything(service.index) == before


@pytest.mark.parametrize(
    "failure", [ModelUnavailable("busy"), ModelFailed("no such key")], ids=["away", "refuses all"]
)
def test_a_model_that_gives_no_vectors_stops_it_before_anything_loses_its_own(
    service: RecallService, failure: ModelFailed
) -> None:
    state = service.reindex(ReindexPayload())
    service.embedder.failure = failure
    with pytest.raises(ModelFailed):
        service.reindex(state)


def test_one_text_that_the_model_never_takes_is_left_out_of_the_vectors_alone(
    service: RecallService,
) -> None:
    service.embedder.refused = {"message 3 1": ModelFailed("refused", code="model_refused_request")}
    done = run(service.reindex, ReindexPayload())
    assert (done.is_done, done.left_out) == (True, 1)
    assert "s3/2" in everything(service.index)


def test_a_page_of_nothing_but_such_a_text_holds_nothing_up(tmp_path: Path) -> None:
    service = RecallService(tmp_path)
    service.say("unspeakable")
    service.embedder.refused = {"unspeakable": ModelFailed("refused", code="model_refused_request")}
    done = run(service.reindex, ReindexPayload())
    assert (done.is_done, done.indexed, done.left_out) == (True, 0, 1)
    assert service.indexed() == 1


def test_where_nothing_is_stored_an_empty_index_takes_its_place(tmp_path: Path) -> None:
    service = RecallService(tmp_path)
    assert run(service.reindex, ReindexPayload()).is_done
    assert len(service.index.indexes()) == 1


def test_every_tenant_is_there_although_none_is_named(service: RecallService) -> None:
    other = Scope("other").user("sarah")
    service.keep("other tenant's fact", scope=other)
    assert run(service.reindex, ReindexPayload()).is_done
    assert service.indexed(other) == 1


def test_a_session_or_user_that_goes_while_its_turn_is_takes_nobody_elses_place(
    service: RecallService,
) -> None:
    before = everything(service.index)
    state = service.reindex(ReindexPayload())
    while not is_amid(state, "messages"):
        state = service.reindex(state)
    gone, place = str(state.within).split("#")[1], state.seq
    assert place > 0
    service.mark_deleted(gone)
    service.sessions.remove(SARAH.owner.session(gone), first=1, last=99, whole=True)
    service.pending = [MessageChanged("acme", gone, seq) for seq in range(1, 20)]
    service.index_all()
    while not is_amid(state, "records"):
        state = service.reindex(state)
    moved = replace(state, within="acme#somebody", page="a cursor that is somebody else's")
    assert run(service.reindex, moved).is_done
    assert everything(service.index) == {key for key in before if not key.startswith(f"{gone}/")}


def is_amid(state: ReindexPayload, phase: str) -> bool:
    """Whether a session or user of that phase has begun and goes on in the next step."""
    return state.phase == phase and state.within is not None


def test_a_late_write_of_what_was_deleted_does_not_bring_it_back(service: RecallService) -> None:
    record = service.memories.listed(DAVID, limit=1).records[0]
    written: list[str] = []

    def delete_meanwhile() -> None:
        if not written and any(change.key == record.id for change in service.index.arriving):
            written.append(record.id)
            service.time.advance(1)
            service.manage.delete(DAVID, record.id)
            service.pending.append(RecordChanged("acme", "david", record.id))
            service.index_all()

    service.index.before_write = delete_meanwhile
    assert run(service.reindex, ReindexPayload()).is_done
    assert written == [record.id]
    assert record.id not in everything(service.index, "david")


def test_a_state_survives_being_kept() -> None:
    state = ReindexPayload(
        phase="records", after="x", within="z", seq=3, page="y", indexed=5, left_out=1
    )
    assert restored(state) == state
