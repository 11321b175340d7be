"""LlamaIndex: `Memory` on a SQLite file. Its queue is configured to hold between 20 and 40
messages, as our window does.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from benchmarks.beside.subjects.harness import Said, database_bytes, main
from benchmarks.conversation import WINDOW, said


class Subject:
    batch = 50

    def __init__(self, place: str) -> None:
        from llama_index.core.utils import get_tokenizer  # in its own environment

        self._file = f"{place}/memory.db"
        self._runner = asyncio.Runner()
        self._memories: dict[str, Any] = {}
        self._weight = len(get_tokenizer()(said(0)[1]))

    def append(self, session: str, messages: Sequence[Said]) -> None:
        from llama_index.core.llms import ChatMessage

        chat = [ChatMessage(role=role, content=text) for role, text in messages]
        memory = self._memory(session)
        self._runner.run(memory.aput(chat[0]) if len(chat) == 1 else memory.aput_messages(chat))

    def newest(self, session: str, count: int) -> Sequence[str]:
        return [str(message.content) for message in self._runner.run(self._memory(session).aget())]

    def everything(self, session: str) -> Sequence[str]:
        return [
            str(message.content) for message in self._runner.run(self._memory(session).aget_all())
        ]

    def stored_bytes(self, session: str) -> int:
        return database_bytes(self._file)

    def _memory(self, name: str) -> Any:
        from llama_index.core.memory import Memory

        if name not in self._memories:
            self._memories[name] = Memory.from_defaults(
                session_id=name,
                token_limit=2 * WINDOW * self._weight,
                chat_history_token_ratio=1.0,
                token_flush_size=WINDOW * self._weight,
                async_database_uri=f"sqlite+aiosqlite:///{self._file}",
            )
        return self._memories[name]


if __name__ == "__main__":
    main(Subject)
