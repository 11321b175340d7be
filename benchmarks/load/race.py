"""Lets fifty concurrent writers append to one conversation, counts the acknowledged and the kept
messages, and checks their order.
"""

import json
import statistics
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.beside.environments import PEERS, Peer, asked, command, environment, home, python_of
from benchmarks.report import Cell, Table
from benchmarks.service import Place
from infra import paths

WRITERS = 50
SECONDS = 180
SESSION = "race"
COLUMNS = (
    "at once",
    "acknowledged",
    "kept",
    "lost",
    "doubled",
    "in order",
    "attempts a commit",
    "append p95, ms",
    "seconds",
)


@dataclass(frozen=True, slots=True)
class Course:
    """How the writers are distributed over processes, and how many messages each appends."""

    processes: int
    appends: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a race. `acknowledged` are the texts of each writer in the writer's order.
    `stored` are all texts in the order of the conversation.

    `waited` are the seconds of each acknowledged append. `attempts` is how many commits were tried,
    or None if they were not counted.
    """

    acknowledged: Mapping[str, Sequence[str]]
    stored: Sequence[str]
    refused: Mapping[str, int]
    seconds: float
    waited: Sequence[float]
    attempts: int | None

    @property
    def kept(self) -> int:
        there = set(self.stored)
        return sum(text in there for texts in self.acknowledged.values() for text in texts)

    @property
    def doubled(self) -> int:
        return len(self.stored) - len(set(self.stored))

    @property
    def promised(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    @property
    def attempts_a_commit(self) -> float | None:
        return None if self.attempts is None else self.attempts / self.promised

    @property
    def slowest(self) -> float | None:
        """Return the 95th percentile of the times of acknowledged appends, in milliseconds."""
        return statistics.quantiles(self.waited, n=20)[-1] * 1e3 if len(self.waited) > 1 else None

    @property
    def in_order(self) -> int:
        """Return how many writers have their messages stored in the order in which they were
        acknowledged.
        """
        places = {text: number for number, text in enumerate(self.stored)}
        seqs = (
            [places[text] for text in texts if text in places]
            for texts in self.acknowledged.values()
        )
        return sum(order == sorted(order) for order in seqs)


def ours(place: Place, *, course: Course) -> Outcome:
    return _outcome(sys.executable, "ours", json.dumps(dict(place.environment)), place, course)


def of_peer(peer: Peer, place: Place, *, course: Course) -> Outcome:
    with home(peer, place) as folder:
        return _outcome(str(python_of(peer)), peer.module, folder, place, course)


def table(place: Place, *, course: Course) -> Table:
    rows = [_row("Palimpsest, handler", ours(place, course=course))]
    notes = [
        (
            f"{course.processes} processes of {WRITERS // course.processes} threads; no two writers "
            f"share an object."
        ),
        (
            "Ours: the handler, which answers one call at a time in each process as in Lambda; a key "
            "with every append."
        ),
        (
            "Kept: of the acknowledged messages. In order: writers whose messages have the order of "
            "their acknowledgements."
        ),
        (
            "Attempts a commit: transactions tried for each append acknowledged; what the others try "
            "is not counted."
        ),
        "Append p95: of those acknowledged, with retries and the wait for other threads.",
    ]
    for peer in PEERS:
        try:
            outcome = of_peer(peer, place, course=course)
        except RuntimeError as error:
            rows.append([peer.title, *[None] * (len(COLUMNS) - 1)])
            notes.append(f"{peer.title}: {error}.")
            continue
        rows.append(_row(peer.title, outcome))
        if outcome.refused:
            reason, times = max(outcome.refused.items(), key=lambda refusal: refusal[1])
            notes.append(
                f"{peer.title} refused {sum(outcome.refused.values())}: {reason} ({times} times)."
            )
    return Table(
        f"One conversation, {WRITERS} writers with {course.appends} appends each",
        COLUMNS,
        rows,
        notes,
    )


def _row(title: str, outcome: Outcome) -> list[Cell]:
    lost = outcome.promised - outcome.kept
    order = f"{outcome.in_order} of {WRITERS}"
    pace = (outcome.attempts_a_commit, outcome.slowest, outcome.seconds)
    return [title, outcome.promised, outcome.kept, lost, outcome.doubled, order, *pace]


def _outcome(python: str, module: str, where: str, place: Place, course: Course) -> Outcome:
    order = {"place": where, "session": SESSION}
    asked(python, module, {"task": "begin", **order}, place=place, seconds=60)
    shares = _run(python, module, order, place, course)
    stored = asked(python, module, {"task": "everything", **order}, place=place, seconds=60)[
        "texts"
    ]
    refused: Counter[str] = Counter()
    acknowledged: dict[str, Sequence[str]] = {}
    waited: list[float] = []
    for share in shares:
        refused.update(share["refused"])
        acknowledged |= share["acknowledged"]
        waited += share["waited"]
    texts = [text for text in stored if text.startswith("writer ")]
    counted = [share["attempts"] for share in shares]
    return Outcome(
        acknowledged,
        texts,
        refused,
        seconds=max(share["seconds"] for share in shares),
        waited=waited,
        attempts=None if None in counted else sum(counted),
    )


def _run(
    python: str, module: str, task: Mapping[str, Any], place: Place, course: Course
) -> list[dict[str, Any]]:
    """Run all processes at the same time. They begin when the last of them is ready."""
    writers = [list(range(first, WRITERS, course.processes)) for first in range(course.processes)]
    running = [
        subprocess.Popen(
            command(
                python,
                module,
                {"task": "race", **task, "writers": theirs, "appends": course.appends},
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=paths.PROJECT,
            env=environment(place),
        )
        for theirs in writers
    ]
    watch = threading.Timer(SECONDS, _kill, (running,))
    watch.start()
    try:
        for process in running:
            assert process.stdout is not None
            while process.stdout.readline() not in ("ready\n", ""):
                pass
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        lines = [process.communicate()[0].splitlines()[-1:] for process in running]
    finally:
        watch.cancel()
        _kill(running)
    if not all(lines):
        raise RuntimeError(f"{module}: the race did not end within {SECONDS} s")
    return [json.loads(last) for (last,) in lines]


def _kill(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
        process.wait()
