"""A stage without a search index answers from its tables, as far as they may be read, and says so."""

from pathlib import Path

import pytest
from palimpsest.engines.no_search import AbsentIndex

from tests.unit.recall.recall_world import RecallWorld


@pytest.fixture
def world(tmp_path: Path) -> RecallWorld:
    return RecallWorld(tmp_path, index=AbsentIndex())


def test_words_and_topics_are_found_and_the_answer_says_what_is_missing(world: RecallWorld) -> None:
    world.keep("The manager is Dana", topic="manager")
    world.say("The bicycle is red")
    assert world.recall("Who is the manager?").degraded == ("search", "vector")
    assert world.found("Who is the manager?") == ["The manager is Dana"]
    assert world.found("bicycle") == ["The bicycle is red"]


@pytest.mark.parametrize(("newer", "found"), [(499, ["likes zebras"]), (500, [])])
def test_the_newest_500_records_are_looked_through(world: RecallWorld, newer: int, found: list[str]) -> None:
    world.keep("likes zebras")
    for number in range(newer):
        world.time.advance(0.001)
        world.keep(f"fact {number}")
    assert world.found("zebras") == found


@pytest.mark.parametrize(("newer", "found"), [(49, ["I saw a zebra"]), (50, [])])
def test_the_newest_50_messages_are_looked_through(world: RecallWorld, newer: int, found: list[str]) -> None:
    world.say("I saw a zebra")
    world.say(*(f"message {number}" for number in range(newer)))
    assert world.found("zebra") == found
