"""A storm is judged by the acknowledged texts, and its model misbehaves in many ways."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.storm.__main__ import page
from benchmarks.storm.model import WAYS, well
from benchmarks.storm.picture import Story, svg
from benchmarks.storm.talk import Session, wrong_with
from benchmarks.storm.verdict import Verdict, judge
from benchmarks.storm.weather import AWAY, KILL, Event
from tests.doubles.openai_api import OK

CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "x"}
USER = {"role": "user", "content": "x"}


def judged(
    stored: list[str], *, acknowledged: list[str], unknown: list[str] | None = None
) -> Verdict:
    verdict = Verdict(quiet_after=10, empty_after=20)
    judge(verdict, Session("s", acknowledged, unknown or []), stored)
    return verdict


def test_what_was_acknowledged_must_be_there_once_and_in_order() -> None:
    assert judged(["a", "b", "c"], acknowledged=["a", "c"], unknown=["b"]).holds
    assert judged(["a"], acknowledged=["a"], unknown=["b"]).holds
    assert judged(["a"], acknowledged=["a", "b"]).lost == ["b"]
    assert judged(["a", "a"], acknowledged=["a"]).doubled == ["a"]
    assert judged(["b", "a"], acknowledged=["a", "b"]).out_of_order == ["s"]
    assert judged(["a", "x"], acknowledged=["a"]).unknown == ["x"]


@pytest.mark.parametrize("quiet", [None, 181.0])
def test_a_storm_after_which_something_goes_on_for_more_than_three_minutes_is_failed(
    quiet: float | None,
) -> None:
    assert Verdict(quiet_after=9, empty_after=9).holds
    assert not Verdict(quiet_after=quiet, empty_after=9).holds
    assert not Verdict(quiet_after=9, empty_after=9, unfinished=["extract running"]).holds
    hidden = Verdict(quiet_after=9, empty_after=quiet)
    assert hidden.faults == ["messages still hidden after three minutes"]


@pytest.mark.parametrize(
    ("messages", "tokens", "wrong"),
    [
        ([USER], 10, None),
        ([USER, CALL, RESULT], 10, None),
        ([], 10, "empty"),
        ([USER], 11, "11 tokens of 10"),
        ([RESULT], 1, "a result without its call"),
        ([CALL, USER], 1, "a call without its result"),
    ],
)
def test_a_context_must_be_valid_and_within_its_budget(
    messages: list[Any], tokens: int, wrong: str | None
) -> None:
    assert wrong_with({"messages": messages, "tokens": {"total": tokens}}, 10) == wrong


def test_a_conversation_without_messages_has_an_empty_context() -> None:
    assert wrong_with({"messages": [], "tokens": {"total": 0}}, 10, may_be_empty=True) is None


def test_a_new_report_leaves_those_of_other_storms_on_the_page(tmp_path: Path) -> None:
    file = tmp_path / "storm.md"
    for number in (1, 2):
        page(file, f"| report | {number} |\n", minutes=10, users=20, pause=2)
        if number == 1:
            file.write_text(file.read_text() + "\n## An hour\n\nAs it was.\n")
    said = file.read_text()
    assert "| report | 2 |" in said
    assert "| report | 1 |" not in said
    assert said.endswith("\n## An hour\n\nAs it was.\n")


def test_the_model_misbehaves_in_28_ways_and_answers_well_otherwise() -> None:
    assert len(set(map(repr, WAYS.values()))) == len(WAYS) == 28
    assert OK not in WAYS.values()
    asked = {"messages": [{"content": '<message number="3">I saw place-7</message>'}]}
    assert "place-7" in well({**asked, "response_format": {}})
    assert well(asked).startswith("The user")


def test_the_picture_shows_every_event() -> None:
    events = [Event(KILL, 3, detail="Extract"), Event(AWAY, 10, 20)]
    drawn = svg(Story(60, [(1, 0.1), (31, 0.2)], [(0, 0), (30, 4)], events, 75), "A storm")
    assert drawn.count('fill-opacity=".7"') == len(events)
    assert "quiet" in drawn
