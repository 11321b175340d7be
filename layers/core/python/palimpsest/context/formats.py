"""Writes a context for APIs other than OpenAI's chat: Anthropic's Messages, Amazon Bedrock's
Converse, and OpenAI's Responses.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.conversations.message import SYSTEM_ROLES, Chat, digested_call_id, text_of
from palimpsest.conversations.own_tools import called
from palimpsest.conversations.window.render import plain

ContextFormat = Literal["openai", "anthropic", "converse", "responses"]
Block = dict[str, Any]

BEFORE = "[The conversation began earlier.]"
"""The user message that is put first if the window begins with the assistant, because these APIs
require a user message first.
"""
EMPTY = "[empty]"
"""The text of a message or result that has none, because these APIs refuse an empty text."""
NAMED = frozenset({"user", "assistant"})
"""The roles whose messages may have the name of a speaker."""
CACHE_CONTROL: Block = {"cache_control": {"type": "ephemeral"}}
"""The field on the last block that Anthropic's cache should store."""
CACHE_POINT: Block = {"cachePoint": {"type": "default"}}
"""The block after the last block that Converse's cache should store."""
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_DATA_URL = re.compile(r"data:(?P<media>[\w.+-]+/[\w.+-]+);base64,(?P<data>.+)", re.DOTALL)
IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
"""The media types of images that Anthropic's models accept, and Converse's names for these."""
PDF = "application/pdf"
_FILE = ("file_id", "file_data", "filename")


@dataclass(frozen=True, slots=True)
class FormattedMessages:
    """Messages for an API, and the value of its parameter `system` (None: its messages hold
    everything).

    `origins` has, for each message, the number of the first chat message in it. It is None for a
    message without a chat message (a summary, a block).
    """

    messages: Sequence[Mapping[str, Any]]
    origins: Sequence[int | None]
    system: str | Sequence[Block] | None = None


def written(
    chats: Sequence[Chat], form: ContextFormat, *, points: Sequence[int] = ()
) -> FormattedMessages:
    """Write chat messages for an API. Parts that the API can't hold are named in brackets. The
    other APIs have no field for the name of a speaker, so the name comes before the message's text.
    Otherwise no text is changed. If the API has cache points, one comes after each message whose
    number is in `points`.
    """
    if form == "openai":
        return FormattedMessages(chats, range(len(chats)))
    chats = [_with_name(chat) for chat in chats]
    if form == "responses":
        items = [(item, number) for number, chat in enumerate(chats) for item in _items(chat)]
        return FormattedMessages([item for item, _ in items], [number for _, number in items])
    blocks = _ANTHROPIC if form == "anthropic" else _CONVERSE
    texts = [
        text for chat in chats if chat["role"] in SYSTEM_ROLES and (text := text_of(chat)).strip()
    ]
    turns = _alternating(chats, blocks, points=points)
    return FormattedMessages(
        messages=[{"role": role, "content": content} for role, content, _ in turns],
        origins=[origin for *_, origin in turns],
        system="\n\n".join(texts) if form == "anthropic" else [{"text": text} for text in texts],
    )


def _with_name(chat: Chat) -> Chat:
    """Return the message with its speaker's name before its text, as in "Sarah: Hello"."""
    name, content = chat.get("name"), chat.get("content")
    if not name or not content or chat["role"] not in NAMED:
        return chat
    if isinstance(content, str):
        return {**chat, "content": f"{name}: {content}"}
    first, *others = content
    if first["type"] == "text":
        named = {**first, "text": f"{name}: {first['text']}"}
        return {**chat, "content": [named, *others]}
    return {**chat, "content": [{"type": "text", "text": f"{name}:"}, *content]}


@dataclass(frozen=True, slots=True)
class _Blocks:
    """How an API writes the blocks of a content. `part` returns None for a part that the API can't
    hold.
    """

    text: Callable[[str], Block]
    part: Callable[[Mapping[str, Any]], Block | None]
    call: Callable[[str, str, Mapping[str, Any]], Block]
    result: Callable[[str, Sequence[Block]], Block]
    pointed: Callable[[list[Block]], list[Block]]

    def content(self, content: Any) -> list[Block]:
        """Return the blocks of a content, which is a text or parts. Blank texts are left out,
        because both APIs refuse them.
        """
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        return [block for part in parts if (block := self._block(part))]

    def _block(self, part: Mapping[str, Any]) -> Block | None:
        if part["type"] not in ("text", "refusal"):
            return self.part(part) or self.text(plain([part]))
        text = str(part[part["type"]])
        return self.text(text) if text.strip() else None

    def message(self, chat: Chat) -> list[Block]:
        blocks = self.content(chat.get("content"))
        if chat["role"] == "tool":
            return [self.result(_call_id(chat["tool_call_id"]), blocks or [self.text(EMPTY)])]
        if chat.get("refusal"):
            blocks.append(self.text(chat["refusal"]))
        blocks += [
            self.call(_call_id(call["id"]), called(call)[0], _input(call))
            for call in chat.get("tool_calls", ())
        ]
        return blocks or ([self.text(EMPTY)] if chat["role"] == "user" else [])


def _alternating(
    chats: Sequence[Chat], blocks: _Blocks, *, points: Sequence[int]
) -> list[tuple[str, list[Block], int | None]]:
    """Return role, blocks and origin of each message. The first message is the user's, and then
    assistant and user alternate. Results of tools have the role of the user. A cache point comes
    after each message of `points`.
    """
    turns: list[tuple[str, list[Block], int | None]] = []
    for number, chat in enumerate(chats):
        if chat["role"] in SYSTEM_ROLES or not (content := blocks.message(chat)):
            continue
        role = "assistant" if chat["role"] == "assistant" else "user"
        if number in points:
            content = blocks.pointed(content)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(content)
        else:
            turns.append((role, content, number))
    is_begun = bool(turns) and turns[0][0] == "user"
    return turns if is_begun else [("user", [blocks.text(BEFORE)], None), *turns]


def _call_id(call_id: str) -> str:
    """Return the id of a tool call in the form that these APIs accept."""
    return call_id if _CALL_ID.fullmatch(call_id) else digested_call_id(call_id)


def _input(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call as an object. Arguments that are not an object, such as the
    text of a custom tool, are the value of `input`.
    """
    _, text = called(call)
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        arguments = text
    return arguments if isinstance(arguments, dict) else {"input": arguments}


def _media(part: Mapping[str, Any]) -> tuple[str, str]:
    """Return media type and base64 of an image or file in a data URL, or ("", "") for any other
    address.
    """
    held = part.get(part["type"]) or {}
    match = _DATA_URL.fullmatch(str(held.get("url") or held.get("file_data") or ""))
    return (match["media"], match["data"]) if match else ("", "")


def _anthropic_part(part: Mapping[str, Any]) -> Block | None:
    media, data = _media(part)
    source = {"type": "base64", "media_type": media, "data": data}
    if part["type"] == "image_url" and not media:
        url = str(part["image_url"].get("url"))
        return (
            {"type": "image", "source": {"type": "url", "url": url}}
            if url.startswith("http")
            else None
        )
    if media in IMAGES:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} if media == PDF else None


def _converse_part(part: Mapping[str, Any]) -> Block | None:
    media, data = _media(part)
    if media in IMAGES:
        return {"image": {"format": IMAGES[media], "source": {"bytes": data}}}
    if media == PDF:
        # Converse needs a name that occurs only once in its message. The caller's own name for the
        # file could hold instructions.
        name = "document-" + hashlib.sha256(data.encode()).hexdigest()[:8]
        return {"document": {"format": "pdf", "name": name, "source": {"bytes": data}}}
    return None


_ANTHROPIC = _Blocks(
    text=lambda text: {"type": "text", "text": text},
    part=_anthropic_part,
    call=lambda call_id, name, arguments: {
        "type": "tool_use",
        "id": call_id,
        "name": name,
        "input": arguments,
    },
    result=lambda call_id, text: {"type": "tool_result", "tool_use_id": call_id, "content": text},
    pointed=lambda content: [*content[:-1], {**content[-1], **CACHE_CONTROL}],
)
_CONVERSE = _Blocks(
    text=lambda text: {"text": text},
    part=_converse_part,
    call=lambda call_id, name, arguments: {
        "toolUse": {"toolUseId": call_id, "name": name, "input": arguments}
    },
    result=lambda call_id, text: {"toolResult": {"toolUseId": call_id, "content": text}},
    pointed=lambda content: [*content, CACHE_POINT],
)


def _items(chat: Chat) -> list[Block]:
    """Return the chat message as items of the Responses API."""
    role, content = chat["role"], chat.get("content")
    if role == "tool":
        return [
            {
                "type": "function_call_output",
                "call_id": _call_id(chat["tool_call_id"]),
                "output": plain(content),
            }
        ]
    if role == "user" and not isinstance(content, str):
        return [{"role": role, "content": [_input_part(part) for part in content or ()]}]
    text = "\n".join(filter(None, (plain(content), chat.get("refusal"))))
    calls = [_call_item(call) for call in chat.get("tool_calls", ())]
    return calls if calls and not text else [{"role": role, "content": text}, *calls]


def _call_item(call: Mapping[str, Any]) -> Block:
    name, text = called(call)
    is_custom = call.get("type") == "custom"
    arguments = json.dumps(_input(call)) if is_custom else text
    return {
        "type": "function_call",
        "call_id": _call_id(call["id"]),
        "name": name,
        "arguments": arguments,
    }


def _input_part(part: Mapping[str, Any]) -> Block:
    held = part.get(part["type"])
    if part["type"] == "image_url" and isinstance(held, Mapping):
        return {
            "type": "input_image",
            "image_url": held.get("url"),
            "detail": held.get("detail") or "auto",
        }
    if part["type"] == "file" and isinstance(held, Mapping):
        return {"type": "input_file", **{name: held[name] for name in _FILE if name in held}}
    return {"type": "input_text", "text": plain([part])}
