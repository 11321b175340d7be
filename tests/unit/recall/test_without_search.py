"""A stage without a search index answers from its tables, as far as they may be read, and says
so.
"""

from pathlib import Path

import pytest
from palimpsest.search.absent import AbsentIndex

from tests.unit.recall.service import RecallService


@pytest.fixture
def service(tmp_path: Path) -> RecallService:
    return RecallService(tmp_path, index=AbsentIndex())


def test_words_and_topics_are_found_and_the_answer_says_what_is_missing(
    service: RecallService,
) -> None:
    service.keep("The manager is Dana", topic="manager")
    service.say("The bicycle is red")
    assert service.recall("Who is the manager?").degraded == ("search", "vector")
    assert service.found("Who is the manager?") == ["The manager is Dana"]
    assert service.found("bicycle") == ["The bicycle is red"]


@pytest.mark.parametrize(("newer", "found"), [(499, ["likes zebras"]), (500, [])])
def test_the_newest_500_records_are_looked_through(
    service: RecallService, newer: int, found: list[str]
) -> None:
    service.keep("likes zebras")
    for number in range(newer):
        service.time.advance(0.001)
        service.keep(f"fact {number}")
    assert service.found("zebras") == found


@pytest.mark.parametrize(("newer", "found"), [(49, ["I saw a zebra"]), (50, [])])
def test_the_newest_50_messages_are_looked_through(
    service: RecallService, newer: int, found: list[str]
) -> None:
    service.say("I saw a zebra")
    service.say(*(f"message {number}" for number in range(newer)))
    assert service.found("zebra") == found
