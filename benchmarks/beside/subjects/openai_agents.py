"""OpenAI Agents SDK: `SQLiteSession` on a file."""

import asyncio
from collections.abc import Sequence
from typing import Any

from benchmarks.beside.subjects.harness import Said, database_bytes, main


class Subject:
    batch = 50

    def __init__(self, place: str) -> None:
        self._file = f"{place}/conversations.db"
        self._runner = asyncio.Runner()
        self._sessions: dict[str, Any] = {}

    def append(self, session: str, messages: Sequence[Said]) -> None:
        items = [{"role": role, "content": text} for role, text in messages]
        self._runner.run(self._session(session).add_items(items))

    def newest(self, session: str, count: int) -> Sequence[str]:
        return self._texts(self._runner.run(self._session(session).get_items(limit=count)))

    def everything(self, session: str) -> Sequence[str]:
        return self._texts(self._runner.run(self._session(session).get_items()))

    def stored_bytes(self, session: str) -> int:
        return database_bytes(self._file)

    def _session(self, name: str) -> Any:
        from agents import SQLiteSession  # in its own environment

        if name not in self._sessions:
            self._sessions[name] = SQLiteSession(name, self._file)
        return self._sessions[name]

    def _texts(self, items: Sequence[Any]) -> list[str]:
        return [item["content"] for item in items]


if __name__ == "__main__":
    main(Subject)
