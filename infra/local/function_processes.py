"""Starts the functions' processes. Layers are unpacked once for all processes, and a burst of calls
starts few.

MiniStack by itself unpacks each layer for every process, and starts a process for every call that
finds the others busy. It also takes the log of a call as complete when no line came for 5 ms. Later
lines would stay hidden until the next call of that process.
"""

import fcntl
import io
import os
import select
import shutil
import struct
import tempfile
import termios
import threading
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ministack.core import lambda_runtime
from ministack.services import lambda_svc

from infra import paths
from infra.local.snapshots import digest

LAYERS = paths.BUILD / "unpacked"
UNUSED_SECONDS = 7 * 24 * 3600
VARIABLE = "_LAMBDA_LAYERS_DIRS"
"""The variable that holds the folders of a process's layers, in the order in which they are added
to its path.
"""
IN_LAMBDA = {"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1"}
"""A variable that is set in Lambda. If functions find it, they build their parts while they start,
so that their first call need not wait.
"""
PATIENCE_SECONDS = 2.0
"""How long a call waits for each of the busy processes before another process is started. Many
processes are slower than few.
"""
MOST_PROCESSES = 10
"""The most processes of one function. More would only compete for the processors, and no call waits
for another call of the same function.
"""
LOG_SECONDS = 5.0
"""How long a call that has answered waits until its log is read. Only a process that continues to
write needs this time.
"""
STARTING_SECONDS = 20.0
"""How long a call waits for a process that is starting. Two starts at once would take
even longer.
"""


class SharingWorker(lambda_runtime.Worker):  # type: ignore[misc]
    """A process of a function. It gets the folders of the unpacked layers instead of the layers."""

    config: dict[str, Any]
    in_use: bool
    has_started = False

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._reading = threading.Lock()
        self._pipe: Any = None

    def _read_stderr(self) -> None:
        """Queue the lines that the process logs, as long as it lives, so that no line is lost while
        nobody reads them.
        """
        pipe, begun = self._proc.stderr, b""
        ready = select.poll()
        ready.register(pipe, select.POLLIN)
        with suppress(OSError):
            while ready.poll():
                with self._reading:
                    content = os.read(pipe.fileno(), 1 << 16)
                    *lines, begun = (begun + content).split(b"\n")
                    for line in lines:
                        self._stderr_queue.put(line.decode(errors="replace"))
                if not content:
                    return

    def _drain_stderr_bounded(self, **_: float) -> str:
        """Return the log of a call. The process has written all of it before it answered."""
        deadline = time.monotonic() + LOG_SECONDS
        while time.monotonic() < deadline and self._has_unread():
            time.sleep(0.001)
        return str(self._drain_stderr())

    def _has_unread(self) -> bool:
        with self._reading:
            unread: int = struct.unpack("i", fcntl.ioctl(self._pipe, termios.FIONREAD, bytes(4)))[0]
        return unread > 0

    def _spawn(self) -> None:
        own = self.config
        variables = own.get("Environment", {}).get("Variables", {})
        folders = [str(_folder(layer)) for layer in own.get("Layers", [])]
        shared = {**variables, **IN_LAMBDA, VARIABLE: os.pathsep.join(folders)}
        self.config = {**own, "Layers": [], "Environment": {"Variables": shared}}
        self.has_started = False
        try:
            super()._spawn()
            self._pipe = self._proc.stderr
            self.has_started = True
        finally:
            self.config = own


def _acquire(
    name: str, config: dict[str, Any], code: bytes, qualifier: str = "$LATEST", **more: Any
) -> Any:
    """Return the result of MiniStack's own function, once a process is free or another may be
    started.
    """
    key, begun = lambda_runtime._worker_key(name, config, qualifier), time.monotonic()  # noqa: SLF001
    with _RELEASED:
        while not _may_go_on(lambda_runtime._workers.get(key, ()), waited=time.monotonic() - begun):  # noqa: SLF001
            _RELEASED.wait(0.1)
        return _BY_ITSELF["acquire"](name, config, code, qualifier=qualifier, **more)


def _may_go_on(processes: Sequence[SharingWorker], *, waited: float) -> bool:
    """Return whether one of a function's processes is free, or another may start. Another may start
    if none is starting and none became free in the meantime.
    """
    if not all(process.in_use for process in processes) or not processes:
        return True
    if len(processes) >= MOST_PROCESSES:
        return False
    are_started = all(process.has_started for process in processes)
    return waited >= (PATIENCE_SECONDS * len(processes) if are_started else STARTING_SECONDS)


def _release(process: Any) -> None:
    _BY_ITSELF["release"](process)
    with _RELEASED:
        _RELEASED.notify_all()


_RELEASED = threading.Condition()
_BY_ITSELF = {"acquire": lambda_runtime.acquire_worker, "release": lambda_runtime.release_worker}


def _folder(layer: Any) -> Path:
    content: bytes | None = lambda_svc._resolve_layer_zip(layer)  # noqa: SLF001 - MiniStack has no public way to ask
    if content is None:
        raise RuntimeError(f"There is no layer {layer}")
    with _UNPACKING:
        return _unpacked(content)


_UNPACKING = threading.Lock()


def _unpacked(content: bytes) -> Path:
    """Return the folder with that content, which is made as a whole or not at all. All stacks of
    this project share it.
    """
    folder = LAYERS / digest(content)[:16]
    if not folder.is_dir():
        LAYERS.mkdir(exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=LAYERS))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(unfinished)
        with suppress(OSError):  # another stack was faster
            unfinished.rename(folder)
    folder.touch()
    return folder


def install() -> None:
    """Make MiniStack start the processes of Python functions in this way, and remove layers that
    were not used for a week.
    """
    for folder in LAYERS.glob("*"):
        if folder.stat().st_mtime < time.time() - UNUSED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
    lambda_runtime.Worker = SharingWorker
    lambda_svc.acquire_worker, lambda_svc.release_worker = _acquire, _release
