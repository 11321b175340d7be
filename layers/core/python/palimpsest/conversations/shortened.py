"""The shortening of a large message for its item. The beginning and end of its texts stay, and its
images and files are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.conversations.drafts import MAX_BATCH_BYTES
from palimpsest.conversations.message import MAX_MESSAGE_BYTES, Chat, Large, Message, size_of
from palimpsest.conversations.own_tools import called
from palimpsest.text.cutting import REPLACED, around, level

LEFT_BYTES = 48_000  # of a large message's texts, from the beginning and the end of each

SMALL_METADATA = 4_000  # bytes

KINDS_OF_PARTS = {"image_url": "image", "input_audio": "audio", "file": "file"}


def too_large(messages: Sequence[Message]) -> frozenset[int]:
    """Return the sequence numbers of the messages to store outside the table. These are all
    messages that are too large for an item. If the rest does not fit into one transaction, the
    largest others are added until it does.
    """
    sizes = {
        message.seq: size_of(message.chat, message.extra, message.metadata) for message in messages
    }
    total, large = sum(sizes.values()), set()
    for seq in sorted(sizes, key=lambda seq: -sizes[seq]):
        if sizes[seq] <= MAX_MESSAGE_BYTES and total <= MAX_BATCH_BYTES:
            break
        large.add(seq)
        total -= max(0, sizes[seq] - LEFT_BYTES - SMALL_METADATA)
    return frozenset(large)


def left(message: Message, large: Large) -> Message:
    """Return the message as its item stores it, with the beginning and end of its texts and the
    names of its images and files.
    """
    metadata = message.metadata if size_of(message.metadata) <= SMALL_METADATA else {}
    return replace(
        message,
        chat=_shortened(message.chat, message.seq),
        extra={},
        metadata=metadata,
        large=large,
    )


def _shortened(chat: Chat, seq: int) -> Chat:
    """Return the message with its texts cut in the middle, to `LEFT_BYTES` in total. Images, audio
    and files are replaced by their names.
    """
    named = with_parts_named(chat, seq)
    height = level([len(text.encode()) for text in _texts(named)], room=LEFT_BYTES)

    def short(text: str) -> str:
        size = len(text.encode())
        mark = f"\n[… the middle of message {seq} is left out …]\n"
        return text if size <= height else around(text, size=len(text) * height // size, mark=mark)

    content = named.get("content")
    made: dict[str, Any] = dict(named)
    if isinstance(content, str):
        made["content"] = short(content)
    elif content is not None:
        made["content"] = [
            {**part, "text": short(part["text"])} if "text" in part else part for part in content
        ]
    if "refusal" in named:
        made["refusal"] = short(named["refusal"])
    if "tool_calls" in named:
        made["tool_calls"] = [_call(call, seq, height) for call in named["tool_calls"]]
    return made


def _texts(chat: Chat) -> list[str]:
    content = chat.get("content")
    texts = (
        [content]
        if isinstance(content, str)
        else [str(part.get("text", "")) for part in content or ()]
    )
    return [
        *texts,
        str(chat.get("refusal", "")),
        *(called(call)[1] for call in chat.get("tool_calls", ())),
    ]


def _call(call: Mapping[str, Any], seq: int, height: int) -> Mapping[str, Any]:
    """Return the call. A note replaces arguments that are longer than `height` bytes. The arguments
    of a function stay JSON.
    """
    if len(called(call)[1].encode()) <= height:
        return call
    kind = call["type"]
    field = "arguments" if kind == "function" else "input"
    return {**call, kind: {**call[kind], field: f'{REPLACED}: "the arguments in message {seq}"}}'}}


def with_parts_named(chat: Chat, seq: int) -> Chat:
    """Return the message with a text in place of each image, audio and file. The text describes the
    part and names the message that has it.
    """
    if not any(map(is_no_text, _parts(chat))):
        return chat
    return {
        **chat,
        "content": [named(part, seq) if is_no_text(part) else part for part in chat["content"]],
    }


def _parts(chat: Chat) -> Sequence[Mapping[str, Any]]:
    content = chat.get("content")
    return () if isinstance(content, str) else content or ()


def is_no_text(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a content is an image, audio or a file."""
    return part.get("type") in KINDS_OF_PARTS


def named(part: Mapping[str, Any], seq: int) -> dict[str, Any]:
    """Return a text that describes an image, audio or a file in its place."""
    kind, content = KINDS_OF_PARTS[part["type"]], part[part["type"]]
    data = str(content.get("url") or content.get("data") or content.get("file_data") or "")
    address, comma, encoded = data.partition(",")
    # A data URL: "data:image/png;base64,iVBO...". Any other address has no size here.
    media_type = address.removeprefix("data:").partition(";")[0] if comma else ""
    form = content.get("filename") or content.get("format") or media_type
    size = ""
    if comma:
        size = f"{len(encoded) * 3 // 4} bytes"
    elif "url" not in content:
        size = f"{len(data) * 3 // 4} bytes"
    description = ", ".join(filter(None, (f"{kind} {form}".strip(), size)))
    return {"type": "text", "text": f"[{description}: in message {seq}]"}


def within(messages: Sequence[Message], *, most: int) -> tuple[Message, ...]:
    """Return the messages, oldest first, with images, audio and files of at most `most` bytes. The
    newest messages keep theirs; in older ones, texts name them.
    """
    held: list[Message] = []
    for message in reversed(messages):
        size = size_of(*filter(is_no_text, _parts(message.chat)))
        if size <= most:
            most -= size
            held.append(message)
        else:
            held.append(replace(message, chat=with_parts_named(message.chat, message.seq)))
    return tuple(reversed(held))
