"""The process of the graph engine starts where Lambda runs it, and says why where it can't."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from palimpsest.errors import Unavailable
from palimpsest_graph.ladybug.process import GraphProcess, NotStarted

MEMORY = 64 * 1024 * 1024
DYNAMIC, RUNPATH, RPATH = 2, 29, 15
NOT_LOADED = 127  # the exit code of a program whose library is not found
IGNORED = 0x6FFFFDF5  # a tag that the loader does not act on (DT_GNU_PRELINKED)
CODE_AS_SHELL = "#!/bin/sh\necho 'error while loading shared libraries' >&2\nexit 127\n"


def without_runpath(binary: Path, copy: Path) -> Path:
    """A copy of a 64-bit ELF executable whose dynamic section names no path of libraries."""
    content = bytearray(binary.read_bytes())
    (table,) = struct.unpack_from("<Q", content, 32)
    size, number = struct.unpack_from("<HH", content, 54)
    for header in range(table, table + size * number, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", content, header)
        if kind == DYNAMIC:
            for entry in range(offset, offset + length, 16):
                (tag,) = struct.unpack_from("<Q", content, entry)
                if tag in (RUNPATH, RPATH):
                    struct.pack_into("<Q", content, entry, IGNORED)
    copy.write_bytes(content)
    shutil.copymode(binary, copy)
    return copy


def needing_a_path(binary: Path, folder: Path) -> Path:
    """A copy of the Python that runs this, which needs one of its libraries under a name that is
    only in `folder`: that of Python itself, or of mathematics where Python is linked statically.
    """
    maps = Path("/proc/self/maps").read_text().splitlines()
    known = {Path(line).name: Path(line.split()[-1]) for line in maps if "/" in line}
    pythons, others = (
        [name for name in known if name.startswith(start)] for start in ("libpython", "libm.so")
    )
    (name, *_) = [*pythons, *others]
    other = name.replace("lib", "pal", 1)
    copy = without_runpath(binary, folder / "python")
    content = copy.read_bytes()
    assert f"\0{name}\0".encode() in content
    copy.write_bytes(content.replace(f"\0{name}\0".encode(), f"\0{other}\0".encode()))
    (folder / other).symlink_to(known[name])
    return copy


@pytest.fixture
def python(tmp_path: Path) -> str:
    """A Python that finds its library as Lambda's does: by LD_LIBRARY_PATH alone."""
    copy = str(needing_a_path(Path(sys.executable).resolve(), tmp_path))
    done = subprocess.run([copy, "--version"], env={}, check=False, capture_output=True)  # noqa: S603
    assert done.returncode == NOT_LOADED
    return copy


def test_the_engine_starts_on_a_python_that_needs_the_path_of_its_libraries(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(Path(python).parent))
    monkeypatch.setenv("PYTHONHOME", "/nowhere")  # nothing else of the environment is passed on
    process = GraphProcess([], memory=MEMORY, python=python)
    assert process.ask({"statements": [], "cypher": "RETURN 1 AS a", "parameters": {}, "seconds": 20,
                        "rows": 1, "answer": 100}, seconds=20)["rows"] == ["[1]"]  # fmt: skip
    process.end()


def test_a_process_that_does_not_start_says_so_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text(CODE_AS_SHELL)
    broken.chmod(0o755)
    with pytest.raises(Unavailable, match="exit code 127") as refused:
        GraphProcess([], memory=MEMORY, python=str(broken))
    assert isinstance(refused.value.__cause__, NotStarted)
    assert "shared libraries" in str(refused.value.__cause__)
