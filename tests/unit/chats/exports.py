"""Exports of chat products, in the forms in which they are downloaded."""

from __future__ import annotations

from typing import Any

BEGAN = 1_704_449_000.5  # 2024-01-05T10:03:20Z


def chatgpt_node(
    id_: str, parent: str | None, role: str = "user", *parts: Any, **more: Any
) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    fields = {"id": f"m-{id_}", "author": {"role": role}, "content": content, "recipient": "all"}
    return {"id": id_, "parent": parent, "children": [], "message": {**fields, **more}}


def chatgpt(*nodes: dict[str, Any], current: str | None = None, **more: Any) -> dict[str, Any]:
    root: dict[str, Any] = {"id": "root", "parent": None, "children": [], "message": None}
    mapping = {node["id"]: node for node in (root, *nodes)}
    whole = {
        "title": "Moving house",
        "create_time": BEGAN,
        "conversation_id": "c1",
        "current_node": current or nodes[-1]["id"],
        "mapping": mapping,
    }
    return {**whole, **more}


def moving_house() -> dict[str, Any]:
    """A conversation with an edited question, a tool, a picture and something spoken."""
    return chatgpt(
        chatgpt_node("s", "root", "system", "", create_time=None),
        chatgpt_node("q0", "s", "user", "I live in Bremn.", create_time=BEGAN),
        chatgpt_node("a0", "q0", "assistant", "Noted.", create_time=BEGAN + 5),
        chatgpt_node("q1", "s", "user", "I live in Bremen.", create_time=BEGAN + 60),
        chatgpt_node(
            "t1", "q1", "assistant", "print(1)", recipient="python", content_type="code"
        ),
        chatgpt_node("t2", "t1", "tool", "1", content_type="execution_output"),
        chatgpt_node("a1", "t2", "assistant", "Nice city.", create_time=BEGAN + 65),
        chatgpt_node(
            "q2", "a1", "user", {"content_type": "image_asset_pointer"},
            {"content_type": "audio_transcription", "text": "My cat is called Mia."},
            content_type="multimodal_text", create_time=None,
        ),
    )  # fmt: skip


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    whole = {"uuid": "u1", "name": "Plants", "created_at": "2024-02-01T08:00:00.123456Z"}
    return {**whole, "chat_messages": list(messages), **more}


def claude_message(id_: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
    own = {"uuid": id_, "sender": sender, "text": text, "created_at": "2024-02-01T08:00:01Z"}
    blocks = [{"type": "text", "text": text}]
    return {**own, "content": blocks, "attachments": [], "files": [], **more}
