"""Writes the blocking client from the asynchronous one: `python
layers/client/write_blocking.py`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

CLIENT = Path(__file__).parent / "python" / "palimpsest_client"
AWAITED, BLOCKING = CLIENT / "awaited.py", CLIENT / "blocking.py"
HEAD = '''"""The client for programs that wait: every call returns once its answer is there.
`write_blocking.py` writes this file from `awaited.py`.
"""
'''
DOCSTRING = re.compile(r'\A""".*?"""\n', re.DOTALL)
NAMES = re.compile(r"\b(?:Async(?=[A-Z])|async_)(\w+)")
"""A name in the asynchronous client that begins with `Async` or `async_`. Without this beginning,
it is the name in the blocking client.
"""
OTHERS = {"anyio": "time", "aiter_bytes": "iter_bytes"}
COROUTINE = re.compile(r"Coroutine\[Any, Any, (\w+)\]")
"""The type of a coroutine. In the blocking client, the type of its result takes its place."""
RUFF = (sys.executable, "-m", "ruff")
AS_BLOCKING = ("--quiet", "--stdin-filename", str(BLOCKING), "-")


def written(awaited: str) -> str:
    """Return the source of the blocking client's module."""
    text = HEAD + DOCSTRING.sub("", COROUTINE.sub(r"\1", _without_async(awaited)))
    fixed = _piped(text, *RUFF, "check", "--fix-only", *AS_BLOCKING)
    return _piped(fixed, *RUFF, "format", *AS_BLOCKING)


def _without_async(text: str) -> str:
    names = {pair[0]: pair[1] for pair in NAMES.finditer(text)}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "awaited", "text.py"), Path(folder, "blocking", "text.py")
        source.parent.mkdir()
        source.write_text(text)
        rule = unasync.Rule("/awaited/", "/blocking/", additional_replacements=names | OTHERS)
        unasync.unasync_files([str(source)], [rule])
        return target.read_text()


def _piped(text: str, *command: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    BLOCKING.write_text(written(AWAITED.read_text()))
