"""Measures what a context adds to an append on the local AWS. The kinds of calls alternate, so that
the machine's load affects all of them alike.
"""

from __future__ import annotations

import itertools
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.load.local_stack import NOTES, Caller, running
from benchmarks.measure import Cost, cost_of
from benchmarks.report import Cell, Table

MOST = 1.0  # times the two calls alone that the call which joins them may take
WANTED = 2.5  # times an append, as a goal that is reported (docs/measurements/turn.md)
ROUNDS, QUICK_ROUNDS = 60, 15
REST = 0.3  # seconds, in which the workers index what was appended before
WARM = 6  # rounds that are not counted
MEMORIES = 12
TURNS = 10  # of a session: a query of the local AWS costs in proportion to its whole partition
WHAT = ("the train", "a hotel", "my dentist", "the invoice", "our garden", "a recipe", "the router")
ABOUT = ("leaves later than planned", "costs more than I thought", "has to wait until Monday")
APPEND, CONTEXT = "append", "context"
FOR_MESSAGE, TOGETHER = "context for a message", "append that asks for its context"
Call = Callable[[], Any]


def tables(*, quick: bool) -> list[Table]:
    with running() as stack:
        return [table(Caller(stack), rounds=QUICK_ROUNDS if quick else ROUNDS)]


def table(caller: Caller, *, rounds: int) -> Table:
    """Raises `AssertionError` as `checked` does."""
    turns = _turns(caller)
    for _ in range(WARM):
        _once(next(turns))
    measured = [_once(next(turns)) for _ in range(rounds)]
    beside = checked(measured)
    middle = {name: statistics.median(run[name] for run in measured) for name in measured[0]}
    ratio = statistics.median(run[TOGETHER] / run[APPEND] for run in measured)
    return Table(
        "What a context adds to an append",
        ("call", "ms", "times the append"),
        [
            *_rows(middle),
            [f"{TOGETHER}, in the middle of all turns", None, round(ratio, 2)],
            ["the same, times append and context for a message", None, round(beside, 2)],
        ],
        (
            NOTES,
            (
                f"Medians of {rounds} turns; each turn makes all four calls, in an order that "
                f"changes, after a rest for the workers. The last two lines are medians of the "
                f"turns' own ratios. Of the last, at most {MOST:.2f} is asserted; of the one before, "
                f"{WANTED} is the goal."
            ),
            (
                f"A user with {MEMORIES} memories and one more for each message, as all are "
                f"extracted; sessions of up to {TURNS} turns; every text is new, so no vector of it "
                f"is known."
            ),
        ),
    )


def checked(measured: Sequence[Mapping[str, float]]) -> float:
    """Return how long an append that asks for its context takes, divided by how long an append and
    a context for a message take together. This is the median of all turns. `measured` has, for each
    turn, the milliseconds of its calls.

    Raises `AssertionError` if the result is more than `MOST`, because one call would then be slower
    than two.
    """
    ratio = statistics.median(run[TOGETHER] / (run[APPEND] + run[FOR_MESSAGE]) for run in measured)
    turns = [{name: round(clock, 1) for name, clock in run.items()} for run in measured]
    assert ratio <= MOST, f"one call takes {ratio:.2f} times as long as two; ms of turns: {turns}"
    return ratio


def _rows(middle: Mapping[str, float]) -> Iterator[Sequence[Cell]]:
    for name, clock in middle.items():
        yield [name, round(clock, 1), round(clock / middle[APPEND], 2)]


def _once(calls: Mapping[str, Call]) -> dict[str, float]:
    """Return the milliseconds of each call."""
    costs: dict[str, Cost] = {}
    for name, call in calls.items():
        time.sleep(REST)
        costs[name] = cost_of(call)[1]
    return {name: costs[name].clock for name in (APPEND, CONTEXT, FOR_MESSAGE, TOGETHER)}


def _turns(caller: Caller) -> Iterator[Mapping[str, Call]]:
    """Yield the calls of one turn after the other, in an order that changes."""
    user = f"user-{uuid.uuid4().hex}"
    facts = [
        {"type": "fact", "content": f"Colleague {number} has desk {number * 7}"}
        for number in range(MEMORIES)
    ]
    caller("POST", f"/v1/users/{user}/memories", {"memories": facts})
    for number in itertools.count():
        path = f"/v1/sessions/{user}-{number // TURNS}"
        if number % TURNS == 0:
            caller("POST", f"{path}/messages", _body(user, "Good morning."))
        text = f"{WHAT[number % 7]} {ABOUT[number % 3]} ({uuid.uuid4().hex[:6]})"
        calls: dict[str, Call] = {
            APPEND: _post(caller, f"{path}/messages", _body(user, f"First: {text}")),
            CONTEXT: lambda path=path: caller("GET", f"{path}/context"),  # type: ignore[misc]
            FOR_MESSAGE: _post(caller, f"{path}/context", {"message": f"Then: {text}"}),
            TOGETHER: _post(
                caller, f"{path}/messages", {**_body(user, f"Last: {text}"), "context": {}}
            ),
        }
        names = list(calls)
        yield {name: calls[name] for name in names[number % 4 :] + names[: number % 4]}


def _post(caller: Caller, path: str, body: Mapping[str, Any]) -> Call:
    return lambda: caller("POST", path, body)


def _body(user: str, text: str) -> dict[str, Any]:
    return {"user_id": user, "messages": [{"role": "user", "content": text}]}
