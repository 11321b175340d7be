"""Fifty writers on one conversation at once: what is acknowledged, what is kept, and in whose order."""

import json
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


@dataclass(frozen=True, slots=True)
class Course:
    """How the writers are spread over processes, and how often each appends."""

    processes: int
    appends: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """`acknowledged` are the texts of each writer in its order, `stored` all texts in the conversation's."""

    acknowledged: Mapping[str, Sequence[str]]
    stored: Sequence[str]
    refused: Mapping[str, int]
    seconds: float

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
    def in_order(self) -> int:
        """Writers whose messages are stored in the order in which they were acknowledged."""
        places = {text: number for number, text in enumerate(self.stored)}
        found = ([places[text] for text in texts if text in places] for texts in self.acknowledged.values())
        return sum(order == sorted(order) for order in found)


def ours(place: Place, *, course: Course) -> Outcome:
    return _outcome(sys.executable, "ours", json.dumps(dict(place.environment)), place, course)


def of_peer(peer: Peer, place: Place, *, course: Course) -> Outcome:
    with home(peer, place) as folder:
        return _outcome(str(python_of(peer)), peer.module, folder, place, course)


def table(place: Place, *, course: Course) -> Table:
    rows = [_row("Palimpsest, handler", ours(place, course=course))]
    notes = [
        f"{course.processes} processes of {WRITERS // course.processes} threads; no two writers share an object.",
        "Ours: the handler, which answers one call at a time in each process as in Lambda; a key with every append.",
        "Kept: of what was acknowledged. In order: writers whose messages stand in the order they were acknowledged.",
    ]
    for peer in PEERS:
        try:
            outcome = of_peer(peer, place, course=course)
        except RuntimeError as error:
            rows.append([peer.title, *[None] * 6])
            notes.append(f"{peer.title}: {error}.")
            continue
        rows.append(_row(peer.title, outcome))
        if outcome.refused:
            reason, times = max(outcome.refused.items(), key=lambda found: found[1])
            notes.append(f"{peer.title} refused {sum(outcome.refused.values())}: {reason} ({times} times).")
    columns = ["at once", "acknowledged", "kept", "lost", "doubled", "in order", "seconds"]
    return Table(f"One conversation, {WRITERS} writers with {course.appends} appends each", columns, rows, notes)


def _row(title: str, outcome: Outcome) -> list[Cell]:
    lost = outcome.promised - outcome.kept
    order = f"{outcome.in_order} of {WRITERS}"
    return [title, outcome.promised, outcome.kept, lost, outcome.doubled, order, outcome.seconds]


def _outcome(python: str, module: str, where: str, place: Place, course: Course) -> Outcome:
    told = {"place": where, "session": SESSION}
    asked(python, module, {"task": "begin", **told}, place=place, seconds=60)
    shares = _run(python, module, told, place, course)
    stored = asked(python, module, {"task": "everything", **told}, place=place, seconds=60)["texts"]
    refused: Counter[str] = Counter()
    acknowledged: dict[str, Sequence[str]] = {}
    for share in shares:
        refused.update(share["refused"])
        acknowledged |= share["acknowledged"]
    texts = [text for text in stored if text.startswith("writer ")]
    return Outcome(acknowledged, texts, refused, max(share["seconds"] for share in shares))


def _run(python: str, module: str, told: Mapping[str, Any], place: Place, course: Course) -> list[dict[str, Any]]:
    """All processes at once, from the moment in which the last of them is ready."""
    writers = [list(range(first, WRITERS, course.processes)) for first in range(course.processes)]
    running = [
        subprocess.Popen(
            command(python, module, {"task": "race", **told, "writers": theirs, "appends": course.appends}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=paths.PROJECT, env=environment(place),
        )
        for theirs in writers
    ]  # fmt: skip
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
