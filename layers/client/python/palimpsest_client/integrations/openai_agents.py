"""A `Session` of the OpenAI Agents SDK, which stores a runner's conversation for good."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest_client.awaited import AsyncPalimpsest
from palimpsest_client.errors import HistoryMovedOn, SessionNotFound
from palimpsest_client.said import Message, parts
from palimpsest_client.used import Used, counted, summed

Item = dict[str, Any]
MOST_AT_ONCE = 50
"""The most messages that one append accepts."""
ITEMS = "items"
"""The field of a stored message that holds its original items."""


class PalimpsestSession:
    """Implements `agents.memory.Session`. Items are returned as they were given. Parallel calls are
    stored as one message. Items that are not like any chat message, such as reasoning, are kept
    too.

    A runner gets every item, however many there are. With `whole=False` it gets the session's
    context within its budget: memories of the user, a summary of earlier items, and the newest
    items.

    With its `hooks`, the usage of a run's model calls is counted for the user, with the tokens that
    a prompt cache served. The SDK itself sends a key of the prompt cache for each session.
    """

    session_settings: Any = None

    def __init__(
        self,
        session_id: str,
        *,
        user: str,
        memory: AsyncPalimpsest | None = None,
        whole: bool = True,
    ) -> None:
        self.session_id = session_id
        self._session = (memory or AsyncPalimpsest()).session(session_id, user=user, tools=False)
        self._whole = whole
        self._used: list[Used] = []

    @property
    def hooks(self) -> Any:
        """Hooks of a run, which count the usage of its model calls."""
        from agents import RunHooks  # only a program that asks for them needs the SDK here

        calls = self._used

        class Counting(RunHooks[Any]):
            async def on_llm_end(self, _context: Any, agent: Any, response: Any) -> None:
                calls.append(used_of(agent.model, response.usage))

        return Counting()

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return the newest `limit` items, oldest first. Without a limit, return all items, or
        those of the context.
        """
        if limit is None and not self._whole:
            return await self._items_of_context()
        items: list[Item] = []
        try:
            async for row in self._session.messages(order="desc"):
                items += reversed(_items(row))
                if limit is not None and len(items) >= limit:
                    break
        except SessionNotFound:
            return []
        return (items if limit is None else items[:limit])[::-1]

    async def _items_of_context(self) -> list[Item]:
        """Return the items of the context. Unabridged messages become their original items, with
        the reasoning between them.
        """
        context = await self._session.begun_context()
        shown = {ref["seq"] for ref in context["refs"] if ref}
        rows: dict[int, Mapping[str, Any]] = {}
        async for row in self._session.messages(order="desc"):
            if not shown or row["seq"] < min(shown):
                break
            rows[row["seq"]] = row
        items: list[Item] = []
        stored: Mapping[str, Any]
        between = sorted(seq for seq, row in rows.items() if row["role"] == "item")
        for chat, ref in zip(context["messages"], context["refs"], strict=True):
            while ref and between and between[0] < ref["seq"]:
                items += _items(rows[between.pop(0)])
            stored = rows.get(ref["seq"], chat) if ref else chat
            items += _items(stored if chat.get("content") == stored.get("content") else chat)
        return items + [item for seq in between for item in _items(rows[seq])]

    async def add_items(self, items: Sequence[Item]) -> None:
        """Store items. Up to 50 messages made from them are stored together, all or none. The usage
        of the model calls that came before is counted in the same call.
        """
        for part in parts(messages_of(items), most=MOST_AT_ONCE):
            calls = list(self._used)
            await self._session.append(*part, usage=summed(calls))
            del self._used[: len(calls)]

    async def pop_item(self) -> Item | None:
        """Remove the newest item and return it. Concurrent calls get different items."""
        while True:
            try:
                newest = [row async for row in self._session.messages(order="desc", limit=1)]
                if not newest:
                    return None
                *rest, last = _items(newest[0])
                await self._session.withdraw(newest[0]["seq"], if_last=newest[0]["seq"])
            except SessionNotFound:
                return None
            except HistoryMovedOn:
                continue
            await self.add_items(rest)
            return last

    async def clear_session(self) -> None:
        """Remove all items, and the memories that were made from them alone."""
        try:
            await (await self._session.withdraw(1)).wait()
        except SessionNotFound:
            return


def used_of(model: Any, usage: Any) -> Used:
    """Return the usage of a model call of the SDK. `model` is that of the agent: a name, an object
    with one, or None for the default model.
    """
    if model is None:
        from agents.models import get_default_model

        model = get_default_model()
    details = usage.input_tokens_details
    return counted(
        model if isinstance(model, str) else getattr(model, "model", None),
        tokens_in=usage.input_tokens,
        cached=details.cached_tokens,
        written=getattr(details, "cache_write_tokens", None) or 0,
        tokens_out=usage.output_tokens,
    )


def messages_of(items: Sequence[Item]) -> list[Message]:
    """Return items of the Responses API as messages to store, each with its items. Consecutive
    calls of tools become one message, with the reasoning between them.
    """
    messages: list[Message] = []
    for item in items:
        message = {**_message(item), ITEMS: [item]}
        place = next(
            (n for n in reversed(range(len(messages))) if messages[n]["role"] != "item"), 0
        )
        before, *between = messages[place:] or [{}]
        if message.get("tool_calls") and before.get("tool_calls"):
            before["tool_calls"] += message["tool_calls"]
            before[ITEMS] += [
                original for merged in (*between, message) for original in merged[ITEMS]
            ]
            del messages[place + 1 :]
        else:
            messages.append(message)
    return messages


def _message(item: Item) -> Message:
    kind = item.get("type") or "message"
    if kind == "message" and item.get("role"):
        return {"role": item["role"], "content": _text(item["content"])}
    if kind == "function_call":
        function = {"name": item["name"], "arguments": item["arguments"]}
        return {
            "role": "assistant",
            "tool_calls": [{"id": item["call_id"], "type": "function", "function": function}],
        }
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item["call_id"], "content": _text(item["output"])}
    return {"role": "item", "item": item}


def _text(content: Any) -> str:
    """Return the text of a content. Return the JSON of a content that has no text."""
    if isinstance(content, str):
        return content
    parts = [
        part.get("text") or part.get("refusal") if isinstance(part, Mapping) else None
        for part in content
    ]
    return (
        "".join(part or "" for part in parts)
        if all(part is not None for part in parts)
        else json.dumps(content)
    )


def _items(row: Mapping[str, Any]) -> list[Item]:
    """Return the items of a stored message. A message that another program stored is one item."""
    if ITEMS in row:
        return list(row[ITEMS])
    if row["role"] == "item":
        return [row["item"]]
    if row["role"] == "tool":
        return [
            {
                "type": "function_call_output",
                "call_id": row["tool_call_id"],
                "output": _text(row["content"]),
            }
        ]
    items = [{"role": row["role"], "content": _text(row["content"])}] if row.get("content") else []
    calls = [
        {"type": "function_call", "call_id": call["id"], **call["function"]}
        for call in row.get("tool_calls") or ()
    ]
    return [*items, *calls]
