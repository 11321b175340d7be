"""Conversations of an export of ChatGPT (`conversations.json`).

Each conversation is a tree, because edited questions and regenerated answers are kept. The branch
that ends with `current_node` is the conversation as its user sees it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from palimpsest_client.chats.conversation import JSON, Chat, message, path_to, time_of

SHOWN = ("text", "multimodal_text")
"""The kinds of content that are words of the user or the assistant. Other kinds are calls of tools,
their results, and a model's thoughts.
"""


def is_chatgpt(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("mapping"), Mapping)


def chat_of(row: Mapping[str, Any]) -> Chat:
    """Return a conversation of the export. A message without a time gets the time of the message
    before it.
    """
    nodes = {key: node for key, node in row["mapping"].items() if isinstance(node, Mapping)}
    parents = {key: node.get("parent") for key, node in nodes.items()}
    branch = path_to(_leaf(row, nodes), parents)
    left_out = Counter[str]()
    if aside := sum(_said(node) for key, node in nodes.items() if key not in set(branch)):
        left_out["other branches"] = aside
    messages: list[JSON] = []
    at = time_of(row.get("create_time"))
    for key in branch:
        stored = nodes[key].get("message")
        if not isinstance(stored, Mapping):
            continue
        at = time_of(stored.get("create_time")) or at
        read = _read(stored, at, left_out)
        if read is not None:
            messages.append(read)
    known = row.get("conversation_id") or row.get("id")
    name = f"chatgpt-{known}" if known else None
    return Chat(name, messages, str(row.get("title") or ""), left_out)


def _leaf(row: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the id of the last node: the current one, or else the newest one."""
    current = row.get("current_node")
    if current in nodes:
        return str(current)
    return max(nodes, key=lambda key: _created(nodes[key]), default=None)


def _created(node: Mapping[str, Any]) -> float:
    time = (node.get("message") or {}).get("create_time")
    return float(time) if isinstance(time, int | float) else 0.0


def _said(node: Mapping[str, Any]) -> bool:
    stored = node.get("message")
    return isinstance(stored, Mapping) and _read(stored, None, Counter()) is not None


def _read(stored: Mapping[str, Any], at: str | None, left_out: Counter[str]) -> JSON | None:
    """Return the message. If it has no words of the user or the assistant, count it in `left_out`
    and return None.
    """
    role = (stored.get("author") or {}).get("role")
    content = stored.get("content") or {}
    metadata = stored.get("metadata") or {}
    if role == "system" or metadata.get("is_visually_hidden_from_conversation"):
        return None
    is_aside = stored.get("recipient") not in (None, "all")
    if role not in ("user", "assistant") or is_aside or content.get("content_type") not in SHOWN:
        left_out["messages of tools"] += 1
        return None
    text, others = _text(content.get("parts") or ())
    left_out.update({"pictures and files": others} if others else {})
    if not text:
        return None
    id_ = stored.get("id")
    return message(role, text, at=at, id_=id_ if isinstance(id_, str) else None)


def _text(parts: Any) -> tuple[str, int]:
    """Return the words of a content, written or spoken, and the number of its other parts."""
    texts = [part if isinstance(part, str) else _spoken(part) for part in parts]
    words = [text.strip() for text in texts if text is not None and text.strip()]
    return "\n\n".join(words), texts.count(None)


def _spoken(part: Any) -> str | None:
    is_speech = isinstance(part, Mapping) and part.get("content_type") == "audio_transcription"
    return str(part.get("text") or "") if is_speech else None
