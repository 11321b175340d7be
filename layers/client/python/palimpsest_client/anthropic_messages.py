"""Messages of Anthropic's API as chat messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from palimpsest_client.said import Message

Block = Mapping[str, Any]
POINTED = frozenset({"text", "image", "document", "tool_use", "tool_result"})
"""The types of blocks that may have a cache point."""


def chats_of(messages: Iterable[Any], *, system: Any = None) -> list[Message]:
    """Return the chat messages in a request. A message with several results of tools becomes one
    chat message for each result.
    """
    chats: list[Message] = []
    if text := _text(_blocks(system)):
        chats.append({"role": "system", "content": text})
    for message in messages:
        blocks = _blocks(message["content"])
        if message["role"] == "assistant":
            chats.append(reply_of({"content": blocks}))
            continue
        chats += [_result(block) for block in blocks if block["type"] == "tool_result"]
        if parts := [_part(block) for block in blocks if block["type"] != "tool_result"]:
            is_text = len(parts) == 1 and parts[0]["type"] == "text"
            chats.append({"role": "user", "content": parts[0]["text"] if is_text else parts})
    return chats


def reply_of(message: Mapping[str, Any]) -> Message:
    """Return a reply of the model as a chat message. The reply's thoughts are not included."""
    blocks = _blocks(message["content"])
    calls = [
        {"id": block["id"], "type": "function",
         "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
        for block in blocks if block["type"] == "tool_use"
    ]  # fmt: skip
    text = _text(blocks)
    content = {"content": text} if text or not calls else {}
    return {"role": "assistant", **content, **({"tool_calls": calls} if calls else {})}


def reply_of_events(events: Iterable[Mapping[str, Any]]) -> Message:
    """Return the chat message that the events of a stream make. A tool call that was cut off is not
    included.
    """
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "written": ""}
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            if delta["type"] == "text_delta":
                block["text"] += delta["text"]
            elif delta["type"] == "input_json_delta":
                block["written"] += delta["partial_json"]
    return reply_of(
        {"content": [whole for _, block in sorted(blocks.items()) if (whole := _whole(block))]}
    )


def _whole(block: dict[str, Any]) -> dict[str, Any] | None:
    """Return the block with its input, which the stream sent in pieces. Return None if a piece is
    missing.
    """
    if block["type"] != "tool_use" or not block["written"]:
        return block
    try:
        return {**block, "input": json.loads(block["written"])}
    except ValueError:
        return None


def marks_of(message: Mapping[str, Any]) -> str:
    """Return a text of the parts that distinguish messages of Anthropic's API: role, text, calls
    and results.
    """
    blocks = _blocks(message["content"])
    ids = [block.get("id") or block.get("tool_use_id") for block in blocks]
    return json.dumps([message["role"], _text(blocks), [id_ for id_ in ids if id_]])


def pointed(own: Mapping[str, Any], shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the caller's own message. If the context has a cache point at the end of that message,
    the result has it too.
    """
    there, blocks = _blocks(shown["content"]), _blocks(own["content"])
    point = there[-1].get("cache_control") if there else None
    if point is None or not blocks or blocks[-1]["type"] not in POINTED:
        return own
    return {**own, "content": [*blocks[:-1], {**blocks[-1], "cache_control": point}]}


def _blocks(content: Any) -> list[dict[str, Any]]:
    """Return the blocks of a content, which may be a text, mappings, or the SDK's objects."""
    if not content:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        dict(block) if isinstance(block, Mapping) else block.model_dump(exclude_none=True)
        for block in content
    ]


def _text(blocks: Iterable[Block]) -> str:
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def _result(block: Block) -> Message:
    text = "\n".join(
        part.get("text") or f"[{part['type']}]" for part in _blocks(block.get("content"))
    )
    return {"role": "tool", "tool_call_id": block["tool_use_id"], "content": text}


def _part(block: Block) -> dict[str, Any]:
    """Return a part of a user's message in the form of the chat API, with images and PDF files."""
    source = block.get("source") or {}
    held = (
        f"data:{source.get('media_type')};base64,{source.get('data')}"
        if source.get("type") == "base64"
        else None
    )
    if block["type"] == "image" and (url := held or source.get("url")):
        return {"type": "image_url", "image_url": {"url": url}}
    if block["type"] == "document" and held:
        return {
            "type": "file",
            "file": {"filename": block.get("title") or "document.pdf", "file_data": held},
        }
    return {"type": "text", "text": block.get("text") or f"[{block['type']}]"}
