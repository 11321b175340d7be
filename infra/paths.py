"""The folders of the project: sources, build results, and the state of the local stack."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).parents[1]
FUNCTIONS = PROJECT / "functions"
LAYERS = PROJECT / "layers"
BUILD = PROJECT / ".build"


def local_state() -> Path:
    """The folder of the local stack. PALIMPSEST_LOCAL_DIR names another one: a second stack beside the first."""
    return Path(os.environ.get("PALIMPSEST_LOCAL_DIR") or PROJECT / ".local").resolve()


def write_private(file: Path, text: str) -> Path:
    """Write the file as a whole or not at all, readable only by its owner; returns it."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(text)
    return unfinished.replace(file)


@contextmanager
def building() -> Iterator[None]:
    """Hold the lock of builds: two stacks may be started at the same time, but only one of them builds."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
