"""The folders of the project: sources, build results, and the state of the local stack."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROJECT = Path(__file__).parents[1]
FUNCTIONS = PROJECT / "functions"
LAYERS = PROJECT / "layers"
BUILD = PROJECT / ".build"
PRIVATE = 0o077
"""The umask of programs that write into the local folder. Only the owner can read their files."""
TO_LOOK_INTO = 0o066  # the bits by which others could list a folder, or write into it


def local_state() -> Path:
    """Return the folder of the local stack. PALIMPSEST_LOCAL_DIR names another folder, for a second
    stack beside the first.
    """
    return Path(os.environ.get("PALIMPSEST_LOCAL_DIR") or PROJECT / ".local").resolve()


def private(folder: Path) -> Path:
    """Make the folder for its owner alone, and return it. If others could read the folder so far,
    make its contents private too.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & TO_LOOK_INTO:
        close_to_others(folder)
    return folder


def close_to_others(folder: Path) -> None:
    """Make the folder, and every file and folder in it, accessible to its owner alone."""
    for path in (folder, *folder.rglob("*")):
        with suppress(FileNotFoundError):  # a running stack removes what it no longer needs
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~PRIVATE)


def write_private(file: Path, text: str) -> Path:
    """Write the file as a whole or not at all, readable only by its owner, and return it."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_text(text)
    return unfinished.replace(file)


@contextmanager
def building() -> Iterator[None]:
    """Hold the lock of builds. Two stacks may be started at the same time, but only one of them
    builds.
    """
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
