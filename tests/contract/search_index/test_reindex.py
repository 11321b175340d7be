"""The index built anew on either engine while writes go on: resumed after a kill, and for another
model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import RecordChanged
from palimpsest.models.ports import Space
from palimpsest.scope import UserScope
from palimpsest.search import rebuild as reindex
from palimpsest.search.embed import Embed
from palimpsest.search.payloads import ReindexPayload
from palimpsest.search.rebuild import Reindex

from tests.contract.search_index.builders import Place
from tests.doubles.meanings import Meanings
from tests.doubles.owned_index import OwnedIndex
from tests.service import SARAH
from tests.unit.recall.service import RecallService, restored

SARAHS = UserScope("acme", "sarah")


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindex, "PAGE", 3)


@pytest.fixture
def service(empty: Place, tmp_path: Path) -> RecallService:
    embedder = Meanings()
    service = RecallService(tmp_path, index=empty.open(embedder.space), embedder=embedder)
    for number in range(5):
        service.keep(f"fact number {number}")
        service.say(f"message {number}", f"answer {number}", session=f"s{number}")
    service.index_all()
    empty.settle()
    return service


def rebuilding(service: RecallService, place: Place, embedder: Meanings) -> Reindex:
    """As another process does it, which makes its vectors with that model."""
    index = place.open(embedder.space)
    embed = Embed(service.memories, service.sessions, index, embedder, service.time)
    return Reindex(service.owners, service.memories, service.sessions, index, embed)


def run(
    use: Callable[[ReindexPayload], ReindexPayload], *, between: Callable[[], object] = lambda: None
) -> ReindexPayload:
    """Each step is done twice, the first time by a process that was killed before its state was
    kept.
    """
    state = ReindexPayload()
    while not state.is_done:
        use(state)
        between()
        state = restored(use(state))
    return state


def words(place: Place, space: Space, *texts: str) -> set[str]:
    place.settle()
    part = OwnedIndex(place.open(space), SARAHS)
    return {hit.key for text in texts for hit in part.by_words(text, k=99)}


def test_killed_at_every_step_it_ends_with_what_the_old_index_held(
    service: RecallService, empty: Place
) -> None:
    before = words(empty, service.embedder.space, "fact", "message", "answer")
    (old,) = service.index.indexes()
    done = run(rebuilding(service, empty, service.embedder))
    assert words(empty, service.embedder.space, "fact", "message", "answer") == before
    assert (len(before), done.indexed, done.left_out) == (15, 15, 0)
    assert old not in service.index.indexes()


def test_what_is_written_and_deleted_meanwhile_is_there_and_stays_away(
    service: RecallService, empty: Place
) -> None:
    facts = list(service.memories.listed(SARAH, limit=50).records)
    kept = {record.id for record in facts}

    def write() -> None:
        service.time.advance(1)
        kept.add(service.keep(f"fact that came {len(kept)}").id)
        if facts:
            gone = facts.pop()
            kept.discard(gone.id)
            service.manage.delete(SARAH, gone.id)
            service.pending.append(RecordChanged("acme", "sarah", gone.id))
        service.index_all()

    run(rebuilding(service, empty, service.embedder), between=write)
    assert words(empty, service.embedder.space, "fact") == kept
    assert not facts


def test_a_page_that_was_read_before_a_deletion_and_is_written_after_it_brings_nothing_back(
    service: RecallService, empty: Place
) -> None:
    record = service.memories.listed(SARAH, limit=1).records[0]
    use = rebuilding(service, empty, service.embedder)
    use(ReindexPayload())
    late = Embed(service.memories, service.sessions, service.index, service.embedder, service.time)

    def delete_first() -> None:
        service.index.before_write = None
        service.time.advance(1)
        service.manage.delete(SARAH, record.id)
        service.pending.append(RecordChanged("acme", "sarah", record.id))
        assert service.index_all() == ()

    service.index.before_write = delete_first
    assert late([RecordChanged("acme", "sarah", record.id)]) == ()
    run(use)
    assert record.id not in words(empty, service.embedder.space, "fact")


def test_another_models_vectors_are_never_compared_with_the_old_ones(
    service: RecallService, empty: Place
) -> None:
    newer = Meanings(
        "newer-model", service.embedder.space.dimension
    )  # as long, so that only the name tells them apart
    old, new = (OwnedIndex(empty.open(each.space), SARAHS) for each in (service.embedder, newer))
    question = "fact number 3"
    old_vector, new_vector = service.embedder.embed([question])[0], newer.embed([question])[0]
    state, use = ReindexPayload(), rebuilding(service, empty, newer)
    while state.phase != "switch":
        state = use(state)
        empty.settle()
        assert old.by_vector(old_vector, k=1)[0].score > 0.9
        assert len(new.by_words("fact", k=99)) == 5
        with pytest.raises(Unavailable):
            new.by_vector(new_vector, k=1)
    use(state)
    assert len(new.by_vector(new_vector, k=99)) == 15
    assert new.by_vector(new_vector, k=1)[0].score > 0.9
    with pytest.raises(Unavailable):
        old.by_vector(old_vector, k=1)
