"""Anthropic's memory tool over a user's memory: its files are memories with versions.

tool = PalimpsestMemoryTool(user="sarah") client.beta.messages.run_tools(model=…, max_tokens=…,
messages=[…], tools=[tool])
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.errors import PalimpsestError

LONGEST = 4000  # characters of a memory; the whole text is beside it
ROOT = "/memories"


class PalimpsestMemoryTool(BetaLocalFilesystemMemoryTool):
    """The SDK's own memory tool. Each command works on a copy of the user's files, and its changes
    are stored.

    Each file is one memory. Overwritten text stays in the memory's history, and recall finds the
    file. A file holds up to 16 KB.
    """

    def __init__(self, *, user: str, memory: Palimpsest | None = None) -> None:
        self._owner = (memory or Palimpsest()).user(user)
        self._folder = TemporaryDirectory(prefix="palimpsest-files-")
        self._turn = threading.Lock()
        super().__init__(self._folder.name)

    def execute(self, command: Any) -> Any:
        """Do one command, and return its answer. Raises `ToolError`, which the model reads. Errors
        of the service are raised as `ToolError` too.
        """
        with self._turn:
            try:
                before = self._fetched()
                answer = super().execute(command)
                self._store(before)
            except PalimpsestError as refused:
                raise ToolError(
                    f"Nothing was changed: {getattr(refused, 'detail', refused)}"
                ) from refused
            return answer

    def _fetched(self) -> Mapping[str, tuple[str, str]]:
        """Load the stored files into the copy. Return the text and the memory of each path."""
        super().clear_all_memory()
        stored = {
            memory["data"]["path"]: (memory["data"]["text"], memory["id"])
            for memory in self._owner.memories(metadata=["store=anthropic"])
            if self._is_ours(memory["data"]["path"])
        }
        for path, (text, _) in stored.items():
            file = self._file(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        return stored

    def _store(self, before: Mapping[str, tuple[str, str]]) -> None:
        now = {
            self._path(file): file.read_bytes().decode()
            for file in self.memory_root.rglob("*")
            if file.is_file()
        }
        for path, text in now.items():
            if path not in before or before[path][0] != text:
                self._owner.remember(
                    f"File {path}:\n{text}"[:LONGEST],
                    topic=_topic(path),
                    data={"path": path, "text": text},
                    metadata={"store": "anthropic"},
                )
        for path in before.keys() - now.keys():
            self._owner.delete(before[path][1])

    def clear_all_memory(self) -> str:
        """Remove every file."""
        with self._turn:
            before = self._fetched()
            answer: str = super().clear_all_memory()
            self._store(before)
            return answer

    def _is_ours(self, path: str) -> bool:
        """Return whether the path is within the folder. A stored path may be outside of it, because
        anybody who may write memories could have stored that path.
        """
        return self._file(path).resolve().is_relative_to(Path(self.memory_root).resolve())

    def _file(self, path: str) -> Path:
        return Path(self.memory_root, path.removeprefix(f"{ROOT}/"))

    def _path(self, file: Path) -> str:
        return f"{ROOT}/{file.relative_to(self.memory_root).as_posix()}"


def _topic(path: str) -> str:
    return "file_" + hashlib.sha256(path.encode()).hexdigest()[:40]
