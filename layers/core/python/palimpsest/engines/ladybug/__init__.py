"""Cypher over users' graphs by the embedded engine ladybug: each graph is held by a process of its own for as long as
it does not change.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from palimpsest.engines.ladybug import worker
from palimpsest.engines.ladybug.tables import Tables
from palimpsest.errors import FieldError, Unavailable, Unprocessable
from palimpsest.graph import MOST_THINGS, Graph
from palimpsest.graph.cypher import Query
from palimpsest.graph.ports import Limits, Rows
from palimpsest.scope import UserScope

LOADING = 20.0  # seconds
PACKED = "ladybug_packed.zip"


class Ended(Exception):
    """The process has ended, by itself or because it took too long."""


class GraphProcess:
    """One process with one graph. It knows nothing of this one's environment, and ends with it."""

    def __init__(self, statements: Sequence[str], *, memory: int) -> None:
        """Load the graph. Raises `Ended`, and `Unprocessable` (`no_graph_engine`) where the engine is not installed."""
        command = [sys.executable, "-I", "-S", str(worker.__file__), str(_folder())]
        self._process = subprocess.Popen(  # noqa: S603 - our own script
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, bufsize=0
        )
        self._rest = b""
        self._end = weakref.finalize(self, _ended, self._process)
        self.ask({"statements": statements, "memory": memory}, seconds=LOADING)

    @property
    def id(self) -> int:
        return self._process.pid

    def ask(self, said: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
        """Send a line and return the answer to it. Raises `Ended` if there is none within these seconds."""
        try:
            self._send(json.dumps(said).encode() + b"\n")
            answer: dict[str, Any] = json.loads(self._line(monotonic() + seconds))
        except (OSError, Ended, ValueError) as error:
            self.end()
            raise Ended from error
        return answer

    def end(self) -> None:
        self._end()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        left = memoryview(line)
        while left:
            left = left[self._process.stdin.write(left) or 0 :]

    def _line(self, until: float) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, until - monotonic())):
                    raise Ended
                read = os.read(self._process.stdout.fileno(), 1 << 20)
                if not read:
                    raise Ended
                self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with process:  # which closes the pipes and waits
        pass


@cache
def _folder() -> Path:
    """The folder that the package of the engine lies in. It is not imported here."""
    found = find_spec("ladybug")
    if found is not None and found.origin is not None:
        return Path(found.origin).parents[1]
    packed = next((file for each in sys.path if (file := Path(each, PACKED)).is_file()), None)
    if packed is None:
        raise Unprocessable("There is no graph engine here: pip install palimpsest[graph].", code="no_graph_engine")
    return _unpacked(packed)


def _unpacked(packed: Path) -> Path:
    """A folder with the package as the layer has it (layers/graph/pack.py); processes of one user share it."""
    stat = packed.stat()
    folder = Path(tempfile.gettempdir(), f"ladybug-{os.getuid()}-{stat.st_size}-{stat.st_mtime_ns}")
    if not folder.exists():
        unfinished = tempfile.mkdtemp()
        shutil.unpack_archive(packed, unfinished)
        with suppress(OSError):  # another process was faster
            Path(unfinished).rename(folder)
    if folder.stat().st_uid != os.getuid():
        raise Unavailable(f"{folder} belongs to another user of this machine.", code="graph")
    return folder


HELD = 2  # processes at the same time
GRACE = 1.0  # seconds that a query has beyond its limit to end by itself


@dataclass(slots=True)
class _Held:
    key: str
    process: GraphProcess
    tables: Tables


class LadybugGraphs:
    """Implements `GraphEngine`. Safe to use from many threads, which take turns."""

    def __init__(self) -> None:
        self._held: OrderedDict[UserScope, _Held] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def most(self) -> int:
        return MOST_THINGS

    def query(
        self, scope: UserScope, graph: Graph, asked: Query, parameters: Mapping[str, Any], *, limits: Limits
    ) -> Rows:
        with self._lock:
            try:
                self._hold(scope, graph, limits)
                answer = self._asked(scope, asked, parameters, limits)
            except Ended as error:
                self._drop(scope)
                message = f"it took more than {limits.seconds:g} seconds, or too much memory"
                raise _refused("query_stopped", message) from error
        if "invalid" in answer:
            raise _refused("invalid_query", answer["invalid"])
        if "stopped" in answer:
            raise _refused("query_stopped", answer["stopped"])
        return Rows(answer["columns"], [json.loads(row) for row in answer["rows"]], answer["is_whole"])

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes, that which was asked last at the end."""
        with self._lock:
            return tuple(held.process.id for held in self._held.values())

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            for scope in list(self._held):
                self._drop(scope)

    def _hold(self, scope: UserScope, graph: Graph, limits: Limits) -> None:
        held = self._held.get(scope)
        if held is None or held.key != graph.key:
            self._drop(scope)
            while len(self._held) >= HELD:
                self._drop(next(iter(self._held)))
            tables = Tables.of(graph)
            with tempfile.TemporaryDirectory() as folder:
                statements = list(tables.load(graph, Path(folder)))
                process = GraphProcess(statements, memory=limits.memory)
            self._held[scope] = _Held(graph.key, process, tables)
        self._held.move_to_end(scope)

    def _asked(self, scope: UserScope, asked: Query, parameters: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
        held = self._held[scope]
        held.tables, statements = held.tables.more_for(asked)
        said = {
            "statements": statements,
            "cypher": asked.renamed(held.tables.edges),
            "parameters": dict(parameters),
            "seconds": limits.seconds,
            "rows": limits.rows,
            "answer": limits.answer,
        }
        answer = held.process.ask(said, seconds=limits.seconds + GRACE)
        if statements and "invalid" in answer:  # maybe not all of them were run
            self._drop(scope)
        return answer

    def _drop(self, scope: UserScope) -> None:
        held = self._held.pop(scope, None)
        if held is not None:
            held.process.end()


def _refused(code: str, message: str) -> Unprocessable:
    said = message.strip().partition("\n")[0][:500]
    return Unprocessable(f"The query can't be run: {said}", code=code, errors=(FieldError("cypher", said),))
