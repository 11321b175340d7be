"""Conversations of an export of Claude (`conversations.json`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest_client.chats.conversation import JSON, Chat, message, path_to, time_of

ROLES = {"human": "user", "assistant": "assistant"}


def is_claude(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("chat_messages"), list)


def chat_of(row: Mapping[str, Any]) -> Chat:
    """Return a conversation of the export. If questions were edited, return the branch with the
    newest message.
    """
    messages = [
        row_message for row_message in row["chat_messages"] if isinstance(row_message, Mapping)
    ]
    shown = _branch(messages, row.get("current_leaf_message_uuid"))
    left_out = Counter[str]()
    if len(shown) < len(messages):
        left_out["other branches"] = len(messages) - len(shown)
    read = [_read(row_message, left_out) for row_message in shown]
    known = row.get("uuid")
    name = f"claude-{known}" if known else None
    return Chat(
        name,
        [read_message for read_message in read if read_message is not None],
        str(row.get("name") or ""),
        left_out,
    )


def _branch(
    messages: Sequence[Mapping[str, Any]], current: str | None
) -> Sequence[Mapping[str, Any]]:
    """Return the messages from the first one to the current one, or to the newest one. If an export
    does not name the parents of messages, its lists have no branches.
    """
    by_id = {str(row_message.get("uuid")): row_message for row_message in messages}
    is_tree = len(by_id) == len(messages) and any(
        row_message.get("parent_message_uuid") in by_id for row_message in messages
    )
    if not is_tree:
        return messages
    newest = max(by_id, key=lambda key: str(by_id[key].get("created_at") or ""))
    parents = {key: row_message.get("parent_message_uuid") for key, row_message in by_id.items()}
    return [by_id[key] for key in path_to(current if current in by_id else newest, parents)]


def _read(stored: Mapping[str, Any], left_out: Counter[str]) -> JSON | None:
    role = ROLES.get(str(stored.get("sender")))
    blocks = [block for block in stored.get("content") or () if isinstance(block, Mapping)]
    texts = [
        str(block.get("text") or "").strip() for block in blocks if block.get("type") == "text"
    ]
    left_out["calls of tools and thoughts"] += len(blocks) - len(texts)
    files = stored.get("files") or ()
    left_out["pictures and files"] += len(stored.get("attachments") or ()) + len(files)
    if not blocks:
        texts = [str(stored.get("text") or "").strip()]
    text = "\n\n".join(part for part in texts if part)
    if role is None or not text:
        return None
    id_ = stored.get("uuid")
    at = time_of(stored.get("created_at"))
    return message(role, text, at=at, id_=id_ if isinstance(id_, str) else None)
