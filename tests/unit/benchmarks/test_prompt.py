"""What a turn costs its user: the share of each context that a prompt cache can serve."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import pytest

from benchmarks.beside.environments import Peer
from benchmarks.prompt import beside
from benchmarks.prompt.conversation import TOPICS, TURNS, conversation, statement
from benchmarks.prompt.embedder import vector
from benchmarks.prompt.measure import PRICES, Measured, common_tokens, weight
from benchmarks.prompt.ours import measured
from benchmarks.prompt.peers import harness
from benchmarks.prompt.run import DEFAULTS, STRATEGIES, WINDOW, Row, next_to_ours
from benchmarks.report import RESULTS

HELLO = {"role": "user", "content": "Hello, who are you?"}
THERE = {"role": "assistant", "content": "Your assistant."}


def check_what_was_needed(sums: Measured) -> None:
    assert (sums.found, sums.misled, sums.over_budget) == (sums.needed, 0, 0)


def test_with_the_defaults_a_cache_can_serve_94_of_100_tokens() -> None:
    sums = measured({}, budget=DEFAULTS, turns=TURNS)
    assert sums.share >= 0.94
    assert sums.needed == 50
    check_what_was_needed(sums)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_in_a_window_of_6000_tokens_a_cache_can_serve_87_of_100(strategy: str) -> None:
    sums = measured(STRATEGIES[strategy], budget=WINDOW, turns=TURNS)
    assert sums.share >= 0.87
    check_what_was_needed(sums)


@pytest.mark.parametrize("place", ["user", "system", "tool_call"])
def test_with_memory_in_one_place_a_cache_can_serve_hardly_anything(place: str) -> None:
    sums = measured({"memory_as": place}, budget=WINDOW, turns=40)
    assert sums.share < 0.5
    check_what_was_needed(sums)


def test_the_conversation_changes_a_memory_every_tenth_turn_and_asks_every_fourth() -> None:
    turns = list(conversation(40))
    assert [turn.number for turn in turns if turn.changed] == [10, 20, 30, 40]
    assert [turn.number for turn in turns if turn.needed] == list(range(4, 41, 4))


def test_the_common_beginning_ends_inside_the_first_message_that_differs() -> None:
    other = {"role": "assistant", "content": "Your guide."}
    assert common_tokens([HELLO, THERE], [HELLO, THERE, HELLO]) == weight(HELLO) + weight(THERE)
    assert common_tokens([HELLO, THERE], [HELLO, other]) == weight(HELLO) + 2
    assert common_tokens([HELLO], [THERE]) == 0


@pytest.mark.parametrize("topic", [topic for topic, _, _ in TOPICS])
def test_whoever_searches_finds_the_memory_of_a_questions_topic_first(topic: str) -> None:
    asked = vector(f"What do you know about my {topic}? Keep it in mind for item 4.")
    near = {
        other: sum(a * b for a, b in zip(asked, vector(statement(other, value)), strict=True))
        for other, _, values in TOPICS
        for value in values[:1]
    }
    assert max(near, key=near.__getitem__) == topic


class Everything:
    """A library that sends all it was given."""

    def __init__(self, *, folder: str) -> None:
        self._facts: dict[str, str] = {}
        self._turns: list[harness.Chat] = []

    def learn(self, topic: str, statement: str) -> None:
        self._facts[topic] = statement

    def ask(self, question: str) -> Sequence[harness.Chat]:
        self._turns.append({"role": "user", "content": question})
        facts = "\n".join(self._facts.values())
        return [*self._turns[:-1], {"role": "system", "content": facts}, self._turns[-1]]

    def answered(self, text: str) -> None:
        self._turns.append({"role": "assistant", "content": text})


def test_other_libraries_have_the_same_turns_and_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["peer", json.dumps({"turns": 40, "folder": "unused"})])
    harness.main(Everything)
    sums = Measured()
    for turn, line in zip(conversation(40), capsys.readouterr().out.splitlines(), strict=True):
        *_, question = chats = json.loads(line)
        assert question["content"] == turn.question
        sums.add(turn, chats, budget=DEFAULTS)
    assert (sums.contexts, sums.needed) == (40, 10)
    check_what_was_needed(sums)


@pytest.mark.parametrize("peer", beside.PEERS, ids=lambda peer: str(peer.title))
def test_every_package_beside_us_is_pinned_by_version_and_hash(peer: Peer) -> None:
    pinned = peer.requirements.read_text().replace("\\\n", "").splitlines()
    assert all("==" in line and "--hash=sha256:" in line for line in pinned)
    assert all(f"{package} " in peer.versions for package in peer.packages)


def test_the_next_to_ours_is_the_cheapest_that_had_what_was_needed() -> None:
    ours = Measured(tokens=1_000, needed=2, found=2)
    rows = [
        Row("Palimpsest, defaults", ours, ours),
        Row("forgetful", Measured(tokens=100, needed=2, found=1), ours),
        Row("misleading", Measured(tokens=100, needed=2, found=2, misled=1), ours),
        Row("dear", Measured(tokens=4_000, needed=2, found=2), ours),
        Row("next", Measured(tokens=1_500, needed=2, found=2), ours),
    ]
    ratios = ", ".join(f"1.50 with {price.model}" for price in PRICES)
    assert next_to_ours(rows) == [
        f"The next to Palimpsest, defaults is next, at {ratios} times the cost."
    ]
    assert next_to_ours(rows[:1]) == []


def test_a_memory_without_a_conversation_has_no_ratio() -> None:
    assert Row("alone", Measured(tokens=100), None).ratio(PRICES[0]) is None


def test_what_was_written_down_holds_what_is_asserted_here() -> None:
    lines = [
        line.split("|") for line in RESULTS.read_text().splitlines() if "| Palimpsest," in line
    ]
    shares = {cells[1].strip(): cells[4].strip() for cells in lines if len(cells) == 9}
    assert float(shares["Palimpsest, defaults"]) >= 0.94
    assert all(float(shares[f"Palimpsest, {name}, {WINDOW:,}"]) >= 0.87 for name in STRATEGIES)
