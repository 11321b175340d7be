"""A `MemoryStore` of Strands Agents.

agent = Agent(memory_manager=MemoryManager(stores=[PalimpsestMemoryStore(user="sarah")]))
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
from strands.memory import MemoryEntry, MemoryStore

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.said import Message
from palimpsest_client.used import Used, summed, used_of_converse


class PalimpsestMemoryStore(MemoryStore):
    """The memories of a user. With `extraction` (the default), the manager passes conversations on,
    and the service extracts memories from them. They are stored in `session`, or in a session that
    this object creates. The usage of the agent's model calls is counted for the user, with the
    tokens that a prompt cache served. Its cost is known if `model` names the model.
    """

    def __init__(
        self,
        *,
        user: str,
        session: str | None = None,
        name: str = "palimpsest",
        description: str = "What is known of the user from every conversation before.",
        max_search_results: int = 5,
        extraction: Any = True,
        memory: Palimpsest | None = None,
        model: str | None = None,
    ) -> None:
        self.name, self.description, self.max_search_results = name, description, max_search_results
        self.writable, self.extraction = True, extraction
        service = memory or Palimpsest()
        self._user = service.user(user)
        self._session = service.session(
            session or f"strands-{uuid.uuid4().hex}", user=user, tools=False
        )
        self._model = model
        self._run = uuid.uuid4().hex

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        """Return the memories that answer the query best."""
        k = (options or {}).get("max_search_results") or self.max_search_results
        result = await anyio.to_thread.run_sync(partial(self._user.recall, query, k=k))
        return [
            MemoryEntry(
                memory["content"],
                metadata={"id": memory["id"], "type": memory["type"], "score": memory["score"]},
            )
            for memory in result["memories"]
        ]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> Any:
        """Save a fact. Saving the same fact again changes nothing."""
        return await anyio.to_thread.run_sync(
            partial(self._user.remember, content, metadata=metadata or None)
        )

    async def add_messages(self, messages: Sequence[Mapping[str, Any]], context: Any = None) -> Any:
        """Store a batch of a conversation, and extract memories from it. A batch that is passed on
        several times is stored once.
        """
        chats = [chat for message in messages for chat in chats_of(message)]
        numbers = getattr(context, "sequence_numbers", None)
        batch = [self._run, numbers, *([] if numbers else [chats, uuid.uuid4().hex])]
        key = hashlib.sha256(json.dumps(batch).encode()).hexdigest()
        if chats:
            used = summed(
                usage for message in messages if (usage := self._used(message)) is not None
            )
            store = partial(self._session.append, *chats, usage=used, key=key)
            await anyio.to_thread.run_sync(store)
            return await anyio.to_thread.run_sync(self._session.extract)
        return None

    def _used(self, message: Mapping[str, Any]) -> Used | None:
        """Return the usage of the model call that made the message."""
        usage = (message.get("metadata") or {}).get("usage") or {}
        return used_of_converse(usage, model=self._model)


def chats_of(message: Mapping[str, Any]) -> list[Message]:
    """Return a message of Bedrock's Converse as chat messages. Each result of a tool becomes a
    message of its own.
    """
    blocks = message["content"]
    results: list[Message] = [
        {
            "role": "tool",
            "tool_call_id": block["toolResult"]["toolUseId"],
            "content": _result(block["toolResult"]),
        }
        for block in blocks
        if "toolResult" in block
    ]
    calls = [_call(block["toolUse"]) for block in blocks if "toolUse" in block]
    text = "\n".join(block["text"] for block in blocks if "text" in block)
    if not text and not calls:
        return results
    return [
        *results,
        {"role": message["role"], "content": text, **({"tool_calls": calls} if calls else {})},
    ]


def _call(use: Mapping[str, Any]) -> Message:
    function = {"name": use["name"], "arguments": json.dumps(use["input"])}
    return {"id": use["toolUseId"], "type": "function", "function": function}


def _result(result: Mapping[str, Any]) -> str:
    return "\n".join(part.get("text") or json.dumps(part.get("json")) for part in result["content"])
