"""A `SessionStore` of the Claude Agent SDK: transcripts, kept word for word.

options = ClaudeAgentOptions(session_store=PalimpsestSessionStore(user="sarah"), resume=…)
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from claude_agent_sdk import SessionStore

from palimpsest_client.awaited import AsyncPalimpsest, AsyncSession
from palimpsest_client.errors import SessionNotFound
from palimpsest_client.said import Message
from palimpsest_client.used import Used, summed, used_of_anthropic

Entry = dict[str, Any]
Key = Mapping[str, str]
MOST_AT_ONCE = 50  # messages that one append takes
MOST_COUNTED = 1_000  # model calls whose usage is known to be counted
PREFIX = "claude"


class PalimpsestSessionStore(SessionStore):
    """Stores each transcript as a session of the user. Statements of user and assistant are stored
    as messages, and memories are extracted from them. Every other entry is stored with the
    conversation, as an item without a message. An entry with a `uuid` is returned only once. The
    usage of the model calls is counted for the user, with the tokens that a prompt cache served.
    """

    def __init__(self, *, user: str, memory: AsyncPalimpsest | None = None) -> None:
        self._memory, self._user = memory or AsyncPalimpsest(), user
        self._counted: dict[str, None] = {}

    async def append(self, key: Key, entries: Sequence[Entry]) -> None:
        """Store entries in their order."""
        messages = [
            {**_message(entry), "subpath": key.get("subpath"), "entry": entry} for entry in entries
        ]
        session, used = self._session(self._name(key)), self._used(entries)
        for start in range(0, len(messages), MOST_AT_ONCE):
            await session.append(*messages[start : start + MOST_AT_ONCE], usage=used)
            used = None

    async def load(self, key: Key) -> list[Entry] | None:
        """Return every entry in its order, or None for a transcript that was never written."""
        entries: list[Entry] = []
        seen: set[str] = set()
        try:
            async for row in self._session(self._name(key)).messages():
                entry: Any = dict(row)["entry"]
                if entry.get("uuid") not in seen:
                    entries.append(entry)
                    seen |= {entry["uuid"]} if entry.get("uuid") else set()
        except SessionNotFound:
            return None
        return entries

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Return the transcripts of a project, without those of subagents."""
        return [
            {
                "session_id": name.split("|", 2)[2],
                "mtime": int(datetime.fromisoformat(at).timestamp() * 1000),
            }
            async for name, at in self._names()
            if name.startswith(f"{PREFIX}|{self._project(project_key)}|")
        ]

    async def list_subkeys(self, key: Key) -> list[str]:
        """Return the subpaths of the subagents' transcripts."""
        subpaths: list[str] = []
        async for name, _ in self._names():
            if name.startswith(f"{self._name(key).replace(PREFIX, PREFIX + '-sub', 1)}|"):
                first = [row async for row in self._session(name).messages(limit=1)]
                subpaths += [str(dict(row)["subpath"]) for row in first]
        return subpaths

    async def delete(self, key: Key) -> None:
        """Remove a transcript. If it is a main transcript, remove the transcripts of its subagents
        too.
        """
        if not key.get("subpath"):
            for subpath in await self.list_subkeys(key):
                await self.delete({**key, "subpath": subpath})
        try:
            await self._session(self._name(key)).delete()
        except SessionNotFound:
            return

    def _used(self, entries: Sequence[Entry]) -> Used | None:
        """Return the usage of the model calls that made the entries. An answer with several blocks
        has an entry for each of them, all with the answer's id and usage. It counts once.
        """
        calls: dict[str, Used] = {}
        for entry in entries:
            message = entry.get("message")
            used = used_of_anthropic(message) if isinstance(message, Mapping) else None
            if isinstance(message, Mapping) and used is not None:
                calls[str(message.get("id") or entry.get("uuid") or len(calls))] = used
        new = {name: used for name, used in calls.items() if name not in self._counted}
        self._counted |= dict.fromkeys(new)
        for name in list(self._counted)[:-MOST_COUNTED]:
            del self._counted[name]
        return summed(new.values())

    def _session(self, name: str) -> AsyncSession:
        return self._memory.session(name, user=self._user, tools=False)

    def _project(self, project_key: str) -> str:
        """Return the part of an id that represents a project. It differs between users."""
        return _short(f"{self._user}|{project_key}")

    def _name(self, key: Key) -> str:
        """Return the id of a transcript's session, which names the project and the transcript."""
        main = f"|{self._project(key['project_key'])}|{key['session_id']}"
        subpath = key.get("subpath")
        return f"{PREFIX}-sub{main}|{_short(subpath)}" if subpath else PREFIX + main

    async def _names(self) -> AsyncIterator[tuple[str, str]]:
        async for session in self._memory.sessions(user_id=self._user):
            yield session["session_id"], session["updated_at"]


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _message(entry: Entry) -> Message:
    """Return an entry's text as a message. An entry without text becomes an item that is not a
    message of the conversation.
    """
    message = entry.get("message")
    if entry["type"] in ("user", "assistant") and isinstance(message, Mapping):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        if text.strip():
            return {"role": entry["type"], "content": text}
    return {"role": "item", "item": {"type": entry["type"]}}
