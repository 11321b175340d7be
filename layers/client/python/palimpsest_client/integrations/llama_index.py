"""A memory block of LlamaIndex.

memory = Memory.from_defaults(session_id="s1", memory_blocks=[PalimpsestMemoryBlock(user="sarah")])
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio.to_thread
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.errors import ToolMessageWithoutCall
from palimpsest_client.said import Message

LETTERS = 4  # of a token, about
SESSION = "session_id"


class PalimpsestMemoryBlock(BaseMemoryBlock[str]):
    """What is remembered that answers the user's newest message. Messages that leave LlamaIndex's own window are stored
    in its session, and memories are extracted from them.
    """

    name: str = "palimpsest"
    user: str
    k: int = 5
    _memory: Palimpsest = PrivateAttr()

    def __init__(self, *, memory: Palimpsest | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._memory = memory or Palimpsest()

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        asked = next((each.content for each in reversed(messages or []) if each.role.value == "user"), None)
        if not asked:
            return ""
        user = self._memory.user(self.user)
        found = await anyio.to_thread.run_sync(partial(user.recall, asked, k=self.k))
        return "\n".join(f"- {each['valid_from'][:10]}: {each['content']}" for each in found["memories"])

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions = [each.additional_kwargs.get(SESSION) for each in messages]
        name = next((each for each in sessions if each), f"llama-index-{self.user}")
        session = self._memory.session(name, user=self.user, tools=False)
        chats = chats_of(messages)
        try:
            await anyio.to_thread.run_sync(partial(session.append, *chats))
        except ToolMessageWithoutCall:  # LlamaIndex lets messages go by their size, a result before its call
            kept = [{"role": "item", "item": each} if each["role"] == "tool" else each for each in chats]
            await anyio.to_thread.run_sync(partial(session.append, *kept))
        await anyio.to_thread.run_sync(session.extract)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out what answers least, until so many tokens are gone."""
        lines = content.splitlines()
        letters = tokens_to_truncate * LETTERS
        while lines and letters > 0:
            letters -= len(lines.pop()) + 1
        return "\n".join(lines) or None


def chats_of(messages: Sequence[ChatMessage]) -> list[Message]:
    """LlamaIndex's messages as chat messages."""
    return [_chat(each) for each in messages]


def _chat(message: ChatMessage) -> Message:
    role = {"chatbot": "assistant", "model": "assistant", "function": "tool"}.get(
        message.role.value, message.role.value
    )
    calls = [_call(each) for each in message.blocks if isinstance(each, ToolCallBlock)]
    calls = calls or list(message.additional_kwargs.get("tool_calls") or ())
    call_id = message.additional_kwargs.get("tool_call_id")
    return {
        "role": role, "content": message.content or "", **({"tool_calls": calls} if calls else {}),
        **({"tool_call_id": call_id} if call_id else {}),
    }  # fmt: skip


def _call(block: ToolCallBlock) -> Message:
    arguments = block.tool_kwargs if isinstance(block.tool_kwargs, str) else json.dumps(block.tool_kwargs)
    function = {"name": block.tool_name, "arguments": arguments}
    return {"id": block.tool_call_id or "call", "type": "function", "function": function}
