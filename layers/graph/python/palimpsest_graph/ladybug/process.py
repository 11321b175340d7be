"""A child process that holds one graph and answers Cypher queries."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from palimpsest.errors import Unavailable, Unprocessable

from palimpsest_graph.ladybug import worker

STARTING = 20.0  # seconds
LOADING = 20.0  # seconds

LOADER = ("LD_LIBRARY_PATH",)
"""Variables that the child process needs to find its libraries, because Lambda's Python has no
RUNPATH.
"""

PACKED = "ladybug_packed.zip"


class Ended(Exception):
    """The process has ended, by itself or because it took too long."""


class NotStarted(Exception):
    """The interpreter or the engine could not be loaded. The error's text is what the process wrote
    about the failure. It holds no data of a user.
    """


class GraphProcess:
    """One child process with one graph. Of this process's environment it gets only the path of its
    libraries. It ends with this process.
    """

    def __init__(
        self, statements: Sequence[str], *, memory: int, python: str = sys.executable
    ) -> None:
        """Start the process and load the graph.

        Raises `Ended`, `Unavailable` if the process does not start, and `Unprocessable`
        (`no_graph_engine`) if the engine is not installed.
        """
        command = [python, "-I", "-S", str(worker.__file__), str(_folder())]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: os.environ[name] for name in LOADER if name in os.environ},
            bufsize=0,
        )
        self._rest = b""
        self._end = weakref.finalize(self, _ended, self._process)
        self._wait_for_start()
        self.ask({"statements": statements, "memory": memory}, seconds=LOADING)

    @property
    def id(self) -> int:
        return self._process.pid

    def ask(self, request: Mapping[str, Any], *, seconds: float) -> dict[str, Any]:
        """Send a line and return the answer to it. Raises `Ended` if there is no answer within
        `seconds` seconds.
        """
        try:
            self._send(json.dumps(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(self._line(monotonic() + seconds))
        except (OSError, Ended, ValueError) as error:
            self.end()
            raise Ended from error
        return answer

    def end(self) -> None:
        self._end()

    def _wait_for_start(self) -> None:
        """Return once the process has loaded the engine. After that, the process closes its stderr,
        because errors could show texts of a user.
        """
        try:
            self._line(monotonic() + STARTING)
        except Ended as error:
            self._process.kill()
            code = self._process.wait()
            assert self._process.stderr is not None  # noqa: S101 - it was asked for
            wrote = self._process.stderr.read().decode(errors="replace").strip()
            self.end()
            message = f"The graph engine did not start (exit code {code})."
            raise Unavailable(message, code="graph") from NotStarted(wrote or str(error))

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
    """Return the folder that contains the engine's package. The package is not imported here."""
    spec = find_spec("ladybug")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parents[1]
    packed = next((file for folder in sys.path if (file := Path(folder, PACKED)).is_file()), None)
    if packed is None:
        raise Unprocessable(
            "There is no graph engine here: pip install palimpsest[graph].", code="no_graph_engine"
        )
    return _unpacked(packed)


def _unpacked(packed: Path) -> Path:
    """Return a folder with the package, unpacked from the layer's file (layers/graph/pack.py).
    Processes of the same system user share the folder.
    """
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
