"""Drives one subject in its own environment. It measures growth, does a share of the race, or
returns what is stored. It uses the standard library only.

python -m benchmarks.beside.subjects.<subject> '{"task": "growth", "place": …}'

answers with one JSON object on its last line.
"""

import contextlib
import json
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from benchmarks.conversation import WINDOW, batches, said
from benchmarks.measure import Cost, cost_of, typical, within

LEAST = 3  # calls at every size, however slow
NEAR_THE_END = 0.9  # of the size at which it refused; the largest size that can be measured
WARMING = 0.1  # seconds of calls that are not measured, at every size
SHARE = 0.08  # of the time that a subject has, for the calls of one kind at one size
Said = tuple[str, str]


class Subject(Protocol):
    """A store of conversations. A method raises an error if the store refuses the call."""

    batch: int
    """The number of messages in one append while a conversation is filled."""

    def append(self, session: str, messages: Sequence[Said]) -> None: ...

    def newest(self, session: str, count: int) -> Sequence[str]:
        """Return the texts of the newest messages that the store would give to a model. These are
        `count` messages, or the number for which it is configured.
        """

    def everything(self, session: str) -> Sequence[str]:
        """Return the texts of all messages, oldest first."""

    def stored_bytes(self, session: str) -> int:
        """Return how many bytes are stored, of this session or of all."""


@runtime_checkable
class CountsAttempts(Protocol):
    """A subject that commits, and starts again if another writer was first."""

    def attempts(self) -> int:
        """Return how many commits all subjects of this process have tried so far."""


def main(subject: Callable[[str], Subject]) -> None:
    """Do the task that the command line names. `subject` opens the store at a place, which is a
    folder or an endpoint.
    """
    order = json.loads(sys.argv[1])
    result = TASKS[order.pop("task")](subject, **order)
    print(f"\n{json.dumps(result)}", flush=True)


def _begin(subject: Callable[[str], Subject], *, place: str, session: str) -> dict[str, Any]:
    """Store the first message alone. So whatever a library creates at its first message exists
    before the race.
    """
    subject(place).append(session, [("user", "hello")])
    return {}


def _everything(subject: Callable[[str], Subject], *, place: str, session: str) -> dict[str, Any]:
    return {"texts": list(subject(place).everything(session))}


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls of one kind at each size, the seconds that they may take, and the database's
    process if there is one.
    """

    rounds: int
    seconds: float
    engine: int | None


def _growth(
    subject: Callable[[str], Subject],
    *,
    place: str,
    sizes: Sequence[int],
    seconds: float,
    **plan: Any,
) -> dict[str, Any]:
    """Measure size after size, until the subject refuses or its seconds of CPU time are used up.
    CPU time counts, because the machine may be busy.
    """
    opened, plans = subject(place), Plan(seconds=seconds * SHARE, **plan)
    ends = time.process_time() + seconds
    growth: dict[str, Any] = {"sizes": {}, "stopped": None}
    for size in sizes:
        held, growth["stopped"] = _filled(opened, f"of-{size}", size, ends=ends)
        if growth["stopped"] is None:
            growth["sizes"][size] = _figures(opened, f"of-{size}", size, plans)
            continue
        most = int(held * NEAR_THE_END)
        if most > 1.5 * max(growth["sizes"], default=1):
            _filled(opened, "nearly", most, ends=ends + seconds)
            growth["sizes"][most] = _figures(opened, "nearly", most, plans)
        break
    return growth


def _filled(subject: Subject, session: str, size: int, *, ends: float) -> tuple[int, str | None]:
    """Return how many messages the subject accepted, and the reason why it accepted no more."""
    held = 0
    for batch in batches(size, subject.batch):
        if time.process_time() > ends:
            return held, f"its CPU time was over at {held:,} messages"
        try:
            subject.append(session, batch)
        except Exception as error:  # noqa: BLE001 - whatever a subject refuses with ends its run
            return held, f"it refuses more than {held:,} messages: {_said_of(error)}"
        held += len(batch)
    return held, None


def _figures(subject: Subject, session: str, held: int, plan: Plan) -> dict[str, Any]:
    within(WARMING, _reads(subject, session, plan), least=1)
    read = within(plan.seconds, _reads(subject, session, plan), least=LEAST)
    before = subject.stored_bytes(session)
    appended = within(plan.seconds, _appends(subject, session, held, plan), least=LEAST)
    grown = (subject.stored_bytes(session) - before) / len(appended)
    return {"read": _as_dict(read), "append": _as_dict(appended), "bytes": 2 * grown}


def _reads(subject: Subject, session: str, plan: Plan) -> Iterator[Callable[[], Cost]]:
    def read() -> Cost:
        texts, cost = cost_of(lambda: subject.newest(session, WINDOW), engine=plan.engine)
        if len(texts) < WINDOW:
            raise RuntimeError(f"{len(texts)} messages were read")
        return cost

    return iter([read] * plan.rounds)


def _appends(subject: Subject, session: str, held: int, plan: Plan) -> Iterator[Callable[[], Cost]]:
    def append(number: int) -> Cost:
        _, cost = cost_of(lambda: subject.append(session, [said(number)]), engine=plan.engine)
        return cost

    return (partial(append, number) for number in range(held, held + plan.rounds))


def _as_dict(costs: Sequence[Cost]) -> dict[str, float]:
    middle = typical(costs)
    return {"cpu": middle.cpu, "engine": middle.engine, "clock": middle.clock, "calls": len(costs)}


# The race


def _race(
    subject: Callable[[str], Subject],
    *,
    place: str,
    session: str,
    writers: Sequence[int],
    appends: int,
) -> dict[str, Any]:
    """Append with these writers at the same time, each in a thread. They start when the standard
    input says so.
    """
    opened = {writer: subject(place) for writer in writers}
    first = opened[writers[0]]
    waited: list[float] = []  # the seconds of each acknowledged append
    kept: dict[int, list[str]] = {writer: [] for writer in writers}
    refused: Counter[str] = Counter()

    def write(writer: int) -> None:
        for number in range(appends):
            text = f"writer {writer} says {number}"
            started = time.perf_counter()
            try:
                opened[writer].append(session, [("user", text)])
            except Exception as error:  # noqa: BLE001 - a refusal is a result
                refused[_said_of(error)] += 1
            else:
                waited.append(time.perf_counter() - started)
                kept[writer].append(text)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in writers]
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "acknowledged": kept,
        "refused": refused,
        "seconds": time.monotonic() - begun,
        "waited": waited,
        "attempts": first.attempts() if isinstance(first, CountsAttempts) else None,
    }


def _said_of(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90] if str(error).strip() else ''}"


def database_bytes(file: str) -> int:
    """Return the size of the values in all rows of a SQLite database, without its indexes and the
    free space in its pages.
    """
    with contextlib.closing(sqlite3.connect(file, timeout=30)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return sum(_table_bytes(connection, table) for table in tables)


def _table_bytes(connection: sqlite3.Connection, table: str) -> int:
    columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
    lengths = " + ".join(f"IFNULL(LENGTH(CAST({column} AS BLOB)), 0)" for column in columns)
    ((total,),) = connection.execute(f"SELECT SUM({lengths}) FROM {table}")  # noqa: S608 - names it gave us itself
    return int(total or 0)


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "begin": _begin,
    "everything": _everything,
    "growth": _growth,
    "race": _race,
}
