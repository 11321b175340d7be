"""A memory of LlamaIndex that stores every message, and its block, which adds the user's memories.

memory = PalimpsestMemory.from_defaults(session_id="s1",
memory_blocks=[PalimpsestMemoryBlock(user="sarah")])
"""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

import anyio.to_thread
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent
from llama_index.core.memory import BaseMemoryBlock, Memory
from pydantic import PrivateAttr

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.errors import SessionNotFound, ToolMessageWithoutCall
from palimpsest_client.said import Message, parts
from palimpsest_client.used import Used, summed, used_of_answer
from palimpsest_client.wrapping import mark_of

LETTERS = 4  # characters of a token, roughly
MOST_AT_ONCE = 50  # messages that one append takes
MOST_FOUND = 100  # memories of one recall
MOST_WAITING = 256  # model calls whose reply is not stored yet
SESSION = "session_id"


class PalimpsestMemoryBlock(BaseMemoryBlock[str]):
    """The memories that answer the user's newest message.

    A `PalimpsestMemory` stores every message in its session at once. A plain `Memory` passes on
    only messages that leave its window. Only these messages are then stored, and memories are
    extracted from them. A short conversation in a plain `Memory` is therefore not stored.
    """

    name: str = "palimpsest"
    user: str
    k: int = 5
    _memory: Palimpsest = PrivateAttr()

    def __init__(self, *, memory: Palimpsest | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._memory = memory or Palimpsest()

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        question = next(
            (
                message.content
                for message in reversed(messages or [])
                if message.role.value == "user"
            ),
            None,
        )
        if not question:
            return ""
        # the service's own window may be larger than this one
        shown = {memory.content for memory in messages or ()}
        user, most = self._memory.user(self.user), min(MOST_FOUND, self.k + len(shown))
        result = await anyio.to_thread.run_sync(partial(user.recall, question, k=most))
        new = [
            memory
            for memory in result["memories"]
            if not (memory["type"] == "message" and memory["content"] in shown)
        ]
        return "\n".join(
            f"- {memory['valid_from'][:10]}: {memory['content']}" for memory in new[: self.k]
        )

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions = [message.additional_kwargs.get(SESSION) for message in messages]
        name = next((session for session in sessions if session), f"llama-index-{self.user}")
        await anyio.to_thread.run_sync(self.store, messages, name)
        await anyio.to_thread.run_sync(
            self._memory.session(name, user=self.user, tools=False).extract
        )

    def store(self, messages: Sequence[ChatMessage], session: str) -> None:
        """Store messages at the end of a session. The session's own configuration decides when
        memories are extracted. The usage of the model
        calls that made the messages is counted.
        """
        talk = self._memory.session(session, user=self.user, tools=False)
        for part in parts(chats_of(messages), most=MOST_AT_ONCE):
            used = CALLS.used_for(part)
            try:
                talk.append(*part, usage=used)
            except ToolMessageWithoutCall:
                # LlamaIndex removes messages by their size, perhaps a result before its call
                kept = [
                    {"role": "item", "item": message} if message["role"] == "tool" else message
                    for message in part
                ]
                talk.append(*kept, usage=used)

    def store_missing(self, messages: Sequence[ChatMessage], session: str) -> None:
        """Store the messages of a whole history that the session lacks."""
        talk = self._memory.session(session, user=self.user, tools=False)
        try:
            there = Counter(mark_of(row) for row in talk.messages() if row["role"] != "item")
        except SessionNotFound:
            there = Counter()
        marks = [mark_of(chat) for chat in chats_of(messages)]
        missing = [
            message
            for message, mark in zip(messages, marks, strict=True)
            if not _taken(there, mark)
        ]
        self.store(missing, session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the least relevant memories, until this number of tokens is removed."""
        lines = content.splitlines()
        letters = tokens_to_truncate * LETTERS
        while lines and letters > 0:
            letters -= len(lines.pop()) + 1
        return "\n".join(lines) or None


class PalimpsestMemory(Memory):
    """LlamaIndex's `Memory`. Its `PalimpsestMemoryBlock`s store every message as soon as it is put,
    however large the window is. Messages that leave the window are not stored again. With
    `insert_method="user"`, the memories come with the user's newest message. The prompt then begins
    like the one before, and a prompt cache can serve it.
    """

    @classmethod
    def from_defaults(cls, *, chat_history: list[ChatMessage] | None = None, **fields: Any) -> Self:
        """Make the memory as `Memory.from_defaults` does. Messages of the `chat_history` that the
        session lacks are stored.
        """
        memory: Self = super().from_defaults(**fields)
        if chat_history is not None:
            memory.set(chat_history)
        return memory

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        for block in self._blocks():
            block.accept_short_term_memory = False

    async def aput(self, message: ChatMessage) -> None:
        await self._store([message])
        await super().aput(message)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        await self._store(messages)
        await super().aput_messages(messages)

    async def aset(self, messages: list[ChatMessage]) -> None:
        for block in self._blocks():
            await anyio.to_thread.run_sync(block.store_missing, messages, self.session_id)
        await super().aset(messages)

    async def _store(self, messages: Sequence[ChatMessage]) -> None:
        for block in self._blocks():
            await anyio.to_thread.run_sync(block.store, messages, self.session_id)

    def _blocks(self) -> Iterator[PalimpsestMemoryBlock]:
        return (block for block in self.memory_blocks if isinstance(block, PalimpsestMemoryBlock))


class ModelCalls(BaseEventHandler):
    """The usage of model calls, until their replies are stored. Safe for many threads."""

    _waiting: OrderedDict[str, list[Used]] = PrivateAttr(default_factory=OrderedDict)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @classmethod
    def class_name(cls) -> str:
        return "PalimpsestModelCalls"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Remember the usage of a call, if its answer states it."""
        response = event.response if isinstance(event, LLMChatEndEvent) else None
        used = None if response is None else used_of_answer(_plain(response.raw))
        if response is None or used is None:
            return
        with self._lock:
            self._waiting.setdefault(mark_of(_chat(response.message)), []).append(used)
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)

    def used_for(self, replies: Sequence[Message]) -> Used | None:
        """Return the usage of the calls that made these replies. Each call counts once."""
        with self._lock:
            calls = [self._waiting.pop(mark_of(reply), []) for reply in replies]
        return summed(used for call in calls for used in call)


CALLS = ModelCalls()


def count_usage() -> None:
    """Count the usage of model calls, with the share that a prompt cache served, for the user
    whose memory stores the reply. Call it once in a process.
    """
    dispatcher = get_dispatcher()
    if CALLS not in dispatcher.event_handlers:
        dispatcher.add_event_handler(CALLS)


def _plain(raw: Any) -> Mapping[str, Any]:
    """Return the model and the usage of an answer, which is a mapping or an object of an SDK."""
    answer = _dumped(raw)
    if not isinstance(answer, Mapping):
        return {}
    usage = _dumped(answer.get("usage"))
    return {"model": answer.get("model"), "usage": usage if isinstance(usage, Mapping) else None}


def _dumped(value: Any) -> Any:
    """Return the fields of an SDK's object. Any other value stays as it is."""
    return value.model_dump() if hasattr(value, "model_dump") else value


def chats_of(messages: Sequence[ChatMessage]) -> list[Message]:
    """Return LlamaIndex's messages as chat messages."""
    return [_chat(message) for message in messages]


def _chat(message: ChatMessage) -> Message:
    role = {"chatbot": "assistant", "model": "assistant", "function": "tool"}.get(
        message.role.value, message.role.value
    )
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]
    calls = calls or list(message.additional_kwargs.get("tool_calls") or ())
    call_id = message.additional_kwargs.get("tool_call_id")
    of_tools = {"tool_calls": calls, "tool_call_id": call_id}
    fields = {name: value for name, value in of_tools.items() if value}
    return {"role": role, "content": message.content or "", **fields}


def _call(block: ToolCallBlock) -> Message:
    arguments = (
        block.tool_kwargs if isinstance(block.tool_kwargs, str) else json.dumps(block.tool_kwargs)
    )
    function = {"name": block.tool_name, "arguments": arguments}
    return {"id": block.tool_call_id or "call", "type": "function", "function": function}


def _taken(there: Counter[str], mark: str) -> bool:
    """Return whether a message with this mark is among the stored messages `there`. If so, count
    one of them down, so that it is not found a second time.
    """
    is_there = there[mark] > 0
    there[mark] -= is_there
    return is_there
