"""LangGraph: `MessagesState` with the SQLite checkpointer. `update_state` adds a message without
running a graph.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from benchmarks.beside.subjects.harness import Said, database_bytes, main


class Subject:
    batch = 10_000
    """The number of messages in one append. Every append stores the whole conversation once more,
    so small batches would fill the disk.
    """

    def __init__(self, place: str) -> None:
        from langgraph.checkpoint.sqlite import SqliteSaver  # in its own environment
        from langgraph.graph import START, MessagesState, StateGraph

        self._file = f"{place}/checkpoints.sqlite"
        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda _: {})
        builder.add_edge(START, "model")
        connection = sqlite3.connect(self._file, check_same_thread=False)
        self._graph = builder.compile(checkpointer=SqliteSaver(connection))

    def append(self, session: str, messages: Sequence[Said]) -> None:
        chats = [{"role": role, "content": text} for role, text in messages]
        self._graph.update_state(self._thread(session), {"messages": chats}, as_node="model")

    def newest(self, session: str, count: int) -> Sequence[str]:
        return self.everything(session)[-count:]

    def everything(self, session: str) -> Sequence[str]:
        messages = self._graph.get_state(self._thread(session)).values.get("messages", [])
        return [message.content for message in messages]

    def stored_bytes(self, session: str) -> int:
        return database_bytes(self._file)

    def _thread(self, session: str) -> dict[str, Any]:
        return {"configurable": {"thread_id": session}}


if __name__ == "__main__":
    main(Subject)
