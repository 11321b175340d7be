"""A model that reads question and memory has a say over the first of them, for as long as it has
time.
"""

import time
from pathlib import Path
from typing import Any

import pytest
from palimpsest.errors import ModelFailed
from palimpsest.models.ports import Reranker
from palimpsest.recall import rerank
from palimpsest.recall.rerank import FIRST

from tests.doubles.reranker import Computing, Hanging, Rating
from tests.unit.recall.service import RecallService

LONG = 20.0  # seconds; more than a busy machine needs for anything here


@pytest.fixture(autouse=True)
def _on_a_busy_machine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank, "SECONDS", LONG)
    monkeypatch.setattr(rerank, "PATIENCE", LONG)


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path)


def remembering(service: RecallService, count: int) -> None:
    for number in range(count):
        service.keep(f"green tea, box {number}", importance=1 - number / 100)
    service.index_all()


def rating(**ratings: float) -> Rating:
    return Rating(lambda text: next(rate for word, rate in ratings.items() if word in text))


def test_it_has_a_say_and_not_all_of_it(service: RecallService) -> None:
    near, middle, far = (
        "some green tea",
        "green tea from the old shop behind the station",
        "a green bicycle of Sarah's",
    )
    for content in (near, middle, far):
        service.keep(content)
    service.index_all()
    assert service.found("green tea") == [near, middle, far]
    assert service.found("green tea", reranker=rating(some=0.1, station=1, bicycle=0))[0] == middle
    assert service.found("green tea", reranker=rating(some=0.9, station=0, bicycle=1))[0] == near
    assert service.found("green tea", reranker=rating(some=1, station=1, bicycle=1)) == [
        near,
        middle,
        far,
    ]


def test_it_reads_the_question_that_was_asked_before_and_of_a_long_text_the_best_sentences(
    service: RecallService,
) -> None:
    long = " ".join(f"We spoke about the weather of day {number}." for number in range(30))
    service.say(
        "Which tea?",
        f"{long} Green tea please. {long} The tea must be warm.",
        role=("assistant", "user"),
    )
    service.index_all()
    reader = Rating()
    service.recall("Is the green tea warm?", reranker=reader)
    (read,) = (text for text in reader.asked if "Green tea please" in text)
    assert read.startswith("Which tea? ")
    assert "Green tea please." in read
    assert read.endswith("The tea must be warm.")
    assert len(read) < 200


def test_what_was_withdrawn_is_not_read_with_what_followed(service: RecallService) -> None:
    service.say("Is my secret 4711?", "I like green tea", role="user")
    service.index_all()
    reader = Rating()
    service.recall("green tea", reranker=reader)
    assert "Is my secret 4711? I like green tea" in reader.asked
    service.change_head(base=1)
    reader = Rating()
    service.recall("green tea", reranker=reader)
    assert reader.asked == ["I like green tea"]


def test_what_was_stated_before_is_not_read_and_the_question_is_asked_as_its_user_would(
    service: RecallService,
) -> None:
    service.say("The weather is fine.", "I like green tea", role="user")
    service.index_all()
    reader = Rating()
    service.recall("Does Sarah like green tea, and is it Sarah's?", reranker=reader)
    assert "I like green tea" in reader.asked
    assert reader.questions == {"Does I like green tea, and is it my?"}


def test_only_the_first_are_read_and_the_others_keep_their_order(service: RecallService) -> None:
    remembering(service, FIRST + 5)
    fused = service.found("green tea", k=FIRST + 5)
    reader = Rating(lambda text: int(text.rpartition(" ")[2]))
    found = service.found("green tea", k=FIRST + 5, reranker=reader)
    unread = fused[FIRST:]
    assert len(reader.asked) == FIRST
    assert [content for content in found if content in unread] == unread
    assert found != fused


@pytest.mark.parametrize(
    "failing", [{"failure": ModelFailed("no")}, {"failure": RuntimeError("no")}, {"seconds": LONG}]
)
def test_one_that_fails_or_is_slow_leaves_the_fused_order_in_time(
    service: RecallService, failing: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "PATIENCE", 0.4)
    remembering(service, 6)
    fused = service.found("green tea")
    begun = time.monotonic()
    recalled = service.recall("green tea", reranker=Rating(**failing))
    assert time.monotonic() - begun < LONG
    assert [memory.content for memory in recalled.memories] == fused
    assert recalled.degraded == ("reranker",)


def test_what_it_did_not_reach_keeps_its_order(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "PATIENCE", 1.2)
    monkeypatch.setattr(rerank, "GRACE", LONG)  # it stops by itself
    remembering(service, FIRST)
    fused = service.found("green tea", k=FIRST)
    slow = Rating(lambda text: int(text.rpartition(" ")[2]), seconds=0.2)
    recalled = service.recall("green tea", k=FIRST, reranker=slow, explain=True)
    found = [memory.content for memory in recalled.memories]
    read = sum("read" in one["signals"] for one in (recalled.trace or {})["ranking"])
    assert 1 <= read < FIRST
    unread = fused[read:]
    assert [content for content in found if content in unread] == unread
    assert recalled.degraded == ("reranker: partial",)


def number_of(text: str) -> float:
    return float(text.rpartition(" ")[2])


def read_by(service: RecallService, reranker: Reranker) -> tuple[int, tuple[str, ...]]:
    """How many memories it read, and what was degraded."""
    recalled = service.recall("green tea", k=FIRST, reranker=reranker, explain=True)
    return (recalled.trace or {})["reranker"]["read"], recalled.degraded


def test_its_time_is_its_own_and_not_that_of_other_threads(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "SECONDS", 0.2)
    remembering(service, FIRST)
    waits = Rating(number_of, seconds=0.02)  # 0.42 s by the clock, as if others had the processor
    assert read_by(service, waits) == (FIRST, ())


def test_with_too_little_time_it_reads_fewer_and_not_none(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "SECONDS", 0.2)
    remembering(service, FIRST)
    read, degraded = read_by(service, Computing(0.02))
    assert rerank.FIRST_PART < read < FIRST
    assert degraded == ("reranker: partial",)
    assert read_by(service, Computing(0.2)) == (rerank.FIRST_PART, degraded)


def test_a_part_that_never_ends_loses_no_other(
    service: RecallService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "PATIENCE", 0.5)
    remembering(service, FIRST)
    hangs = Hanging(number_of, seconds=5)
    assert read_by(service, hangs) == (rerank.FIRST_PART, ("reranker: partial",))


@pytest.mark.parametrize(
    ("size", "took", "left", "following"),
    [(3, 0.03, 1.0, 6), (3, 0.03, 0.055, 5), (3, 0.03, 0.005, 0), (3, 0.03, -1, 0), (3, 0, 0, 0)],
)
def test_a_part_is_as_large_as_the_time_that_is_left_allows(
    size: int, took: float, left: float, following: int
) -> None:
    assert rerank.part_after(size, took=took, left=left) == following


def test_without_one_the_recall_says_so_unless_none_is_wanted(service: RecallService) -> None:
    remembering(service, 2)
    assert service.recall("green tea", rerank=True).degraded == ("reranker",)
    reader = Rating()
    assert service.recall("green tea", reranker=reader, rerank=False).degraded == ()
    assert reader.asked == []


def test_a_record_stays_before_the_message_that_says_its_earlier_value(
    service: RecallService,
) -> None:
    old, new = service.say("My manager is Tom.", "My manager is Dana.")
    service.keep("The manager is Tom", topic="manager", messages=[old], quote="manager is Tom")
    service.keep("The manager is Dana", topic="manager", messages=[new], quote="manager is Dana")
    service.index_all()
    found = service.found("Who is the manager?", reranker=Rating(lambda text: "Tom" in text))
    assert found.index("The manager is Dana") < found.index("My manager is Tom.")


def test_the_trace_says_from_which_place_it_moved_each(service: RecallService) -> None:
    for content in (
        "some green tea",
        "green tea from the old shop behind the station",
        "a green bicycle of Sarah's",
    ):
        service.keep(content)
    service.index_all()
    reranker = rating(some=0.1, station=1, bicycle=0)
    trace = service.recall("green tea", reranker=reranker, explain=True).trace
    assert trace is not None
    assert [one["fused_place"] for one in trace["ranking"]] == [2, 1, 3]


def test_the_trace_says_what_it_did(service: RecallService) -> None:
    remembering(service, 3)
    trace = service.recall("green tea", reranker=Rating(), explain=True).trace
    assert trace is not None
    assert (trace["reranker"]["asked"], trace["reranker"]["read"]) == (3, 3)
    assert trace["reranker"]["milliseconds"] >= 0
    assert all("read_place" in one["terms"] for one in trace["ranking"])
