"""The faults of a storm, and their times."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.storm.model import WAYS
from infra.local.throttling import FILE
from tests.doubles.openai_api import OpenAIApi

KILL, MODEL, THROTTLED, AWAY = "a process is killed", "the model", "tables throttle", "index away"
INDEX = "search"  # its folder
SEARCHING = ("SessionsFunction", "MemoriesFunction", "EmbedFunction", "ReindexFunction")
SHARES = (0.1, 0.3, 0.6)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that went wrong from then on, for so many seconds (0: a moment)."""

    kind: str
    at: float
    seconds: float = 0
    detail: str = ""


@dataclass(slots=True)
class Weather:
    """Everything that goes wrong until a time, each kind in a thread of its own. With a `pace` of
    0.1, all pauses are a tenth as long.
    """

    folder: Path
    api: OpenAIApi
    until: float
    pace: float = 1.0
    events: list[Event] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def begin(self) -> list[threading.Thread]:
        kinds: list[Callable[[], None]] = [
            self._kill,
            self._misbehave,
            self._throttle,
            self._take_away,
        ]
        threads = [threading.Thread(target=self._repeat, args=(kind,)) for kind in kinds]
        for thread in threads:
            thread.start()
        return threads

    def _repeat(self, kind: Callable[[], None]) -> None:
        while time.time() < self.until:
            kind()

    def _rest(self, least: float, most: float) -> None:
        pause = self.chance.uniform(least, most) * self.pace
        time.sleep(max(0.0, min(pause, self.until - time.time())))

    def _kill(self) -> None:
        """Kill one of the functions' processes, even if it is busy."""
        self._rest(2, 8)
        victims = list(processes(self.folder))
        if victims and time.time() < self.until:
            pid, name = self.chance.choice(victims)
            _kill(pid)
            self.events.append(Event(KILL, time.time(), detail=name))

    def _misbehave(self) -> None:
        """Let the model server misbehave in one of the `WAYS` at its next calls."""
        self._rest(1, 4)
        way = self.chance.choice(list(WAYS))
        self.api.script(*[WAYS[way]] * self.chance.randint(1, 3))
        self.events.append(Event(MODEL, time.time(), detail=way))

    def _throttle(self) -> None:
        self._rest(10, 30)
        share = self.chance.choice(SHARES)
        with self._lasting(THROTTLED, f"{share:.0%} of the calls"):
            write_share(self.folder, share)
            self._rest(5, 15)
            write_share(self.folder, 0)

    def _take_away(self) -> None:
        """Put the index where no function finds it, and kill the functions that have it open."""
        self._rest(15, 40)
        if (self.folder / INDEX).is_dir():
            with self._lasting(AWAY), away(self.folder / INDEX):
                for pid, name in processes(self.folder):
                    if name in SEARCHING:
                        _kill(pid)
                self._rest(5, 20)

    @contextlib.contextmanager
    def _lasting(self, kind: str, detail: str = "") -> Iterator[None]:
        begun = time.time()
        yield
        self.events.append(Event(kind, begun, time.time() - begun, detail))


def write_share(folder: Path, share: float) -> None:
    (folder / FILE).write_text(json.dumps({"share": share}))


@contextlib.contextmanager
def away(index: Path) -> Iterator[None]:
    """Put a file in the place of the index's folder during this block, so that nobody can open the
    index.
    """
    elsewhere = index.with_suffix(".away")
    index.rename(elsewhere)
    index.touch()
    try:
        yield
    finally:
        index.unlink()
        elsewhere.rename(index)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def processes(folder: Path) -> Iterator[tuple[int, str]]:
    """Yield the processes of functions that the local AWS of a folder has started."""
    parent = json.loads((folder / "process.json").read_text())["pid"]
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        for pid in _read(children).split():
            with contextlib.suppress(OSError):
                entries = Path("/proc", pid, "environ").read_text(errors="replace").split("\0")
                environment = dict(entry.split("=", 1) for entry in entries if "=" in entry)
                if "AWS_LAMBDA_FUNCTION_NAME" in environment:
                    yield int(pid), environment["AWS_LAMBDA_FUNCTION_NAME"].split("-")[2]


def _read(file: Path) -> str:
    """Return the text of a file, or "" if its thread has just ended."""
    try:
        return file.read_text()
    except OSError:
        return ""
