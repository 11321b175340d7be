"""mem0: the memories that answer a question, in the system prompt, as its README describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from benchmarks.prompt import conversation
from benchmarks.prompt.embedder import DIMENSION, vector
from benchmarks.prompt.peers.harness import Chat, main, weight

USER = "sarah"
UNUSED = {"api_key": "unused"}


class Words(EmbeddingBase):
    """The embedder that all memories of this benchmark use."""

    def __init__(self) -> None:
        super().__init__()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return vector(text)


class InTheSystemPrompt:
    """Memories in the system prompt. `history` says whether the conversation is between the system
    prompt and the question. The README has no conversation there. If the conversation exceeds
    `limit` tokens, its oldest turns are left out.
    """

    def __init__(self, *, folder: str, history: bool, limit: int) -> None:
        self._memory = Memory.from_config(
            {
                "llm": {"provider": "openai", "config": UNUSED},
                "embedder": {"provider": "openai", "config": UNUSED},
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"path": f"{folder}/qdrant", "embedding_model_dims": DIMENSION},
                },
                "history_db_path": f"{folder}/history.db",
            }
        )
        self._memory.embedding_model = Words()
        self._ids: dict[str, str] = {}
        self._keeps_history, self._limit = history, limit
        self._history: list[Chat] = []

    def learn(self, topic: str, statement: str) -> None:
        if topic in self._ids:
            self._memory.update(self._ids[topic], text=statement)
            return
        chats = [{"role": "user", "content": statement}]
        added: Any = self._memory.add(chats, user_id=USER, infer=False)
        self._ids[topic] = added["results"][0]["id"]

    def ask(self, question: str) -> Sequence[Chat]:
        result: Any = self._memory.search(query=question, filters={"user_id": USER}, top_k=3)
        memories = "\n".join(f"- {entry['memory']}" for entry in result["results"])
        system = (
            f"{conversation.SYSTEM} Answer the question based on query and memories.\n"
            f"User Memories:\n{memories}"
        )
        first, last = _chat("system", system), _chat("user", question)
        context = [first, *self._that_fits(weight(system) + weight(question)), last]
        self._history.append(last)
        return context

    def answered(self, text: str) -> None:
        self._history.append(_chat("assistant", text))

    def _that_fits(self, taken: int) -> Sequence[Chat]:
        """Return the newest whole turns that fit."""
        if not self._keeps_history:
            return []
        for begin in range(len(self._history) - 2, -1, -2):
            turn = self._history[begin : begin + 2]
            taken += sum(weight(chat["content"]) for chat in turn)
            if taken > self._limit:
                return self._history[begin + 2 :]
        return self._history


def _chat(role: str, text: str) -> Chat:
    return {"role": role, "content": text}


if __name__ == "__main__":
    main(InTheSystemPrompt)
