"""Conversations of exports, as their users saw them."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from palimpsest_client.chats import chatgpt, claude
from palimpsest_client.chats.files import chats, has_chats

from tests.unit.chats import exports


def written(folder: Path, name: str, content: Any) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_the_branch_that_the_user_sees_is_read_with_its_times() -> None:
    read = chatgpt.chat_of(exports.moving_house())
    assert [
        (message["role"], message["content"], message["timestamp"]) for message in read.messages
    ] == [
        ("user", "I live in Bremen.", "2024-01-05T10:04:20.500000Z"),
        ("assistant", "Nice city.", "2024-01-05T10:04:25.500000Z"),
        ("user", "My cat is called Mia.", "2024-01-05T10:04:25.500000Z"),
    ]
    assert (read.name, read.title) == ("chatgpt-c1", "Moving house")


def test_what_is_not_read_is_counted() -> None:
    read = chatgpt.chat_of(exports.moving_house())
    assert dict(read.left_out) == {
        "other branches": 2, "messages of tools": 2, "pictures and files": 1,
    }  # fmt: skip


def test_without_a_current_node_the_newest_message_decides() -> None:
    given = exports.moving_house() | {"current_node": None}
    assert [message["content"] for message in chatgpt.chat_of(given).messages] == [
        "I live in Bremen.", "Nice city.",
    ]  # fmt: skip


def test_hidden_messages_are_left_out() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    given = exports.chatgpt(
        exports.chatgpt_node("h", "root", "user", "Context", metadata=hidden),
        exports.chatgpt_node("q", "h", "user", "Hello"),
    )
    assert [message["content"] for message in chatgpt.chat_of(given).messages] == ["Hello"]


def test_a_tree_that_runs_in_a_circle_ends() -> None:
    a, b = exports.chatgpt_node("a", "b", "user", "A"), exports.chatgpt_node("b", "a", "user", "B")
    assert len(chatgpt.chat_of(exports.chatgpt(a, b)).messages) == 2


def test_a_conversation_of_claude_is_read_without_thoughts_tools_and_files() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "Water it."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "text", "text": "Weekly."},
    ]
    read = claude.chat_of(
        exports.claude(
            exports.claude_message(
                "1", "human", "My fern is dry.", attachments=[{"file_name": "x"}]
            ),
            exports.claude_message("2", "assistant", "", content=blocks),
            exports.claude_message("3", "human", "", content=[]),
        )
    )
    assert [(message["role"], message["content"]) for message in read.messages] == [
        ("user", "My fern is dry."), ("assistant", "Water it.\n\nWeekly."),
    ]  # fmt: skip
    assert +read.left_out == {"calls of tools and thoughts": 2, "pictures and files": 1}
    assert (read.name, read.title, read.began) == ("claude-u1", "Plants", "2024-02-01T08:00:01Z")


def test_of_edited_questions_the_newest_branch_is_read() -> None:
    later = {"created_at": "2024-02-01T09:00:00Z"}
    read = claude.chat_of(
        exports.claude(
            exports.claude_message("1", "human", "Old", parent_message_uuid="root"),
            exports.claude_message("2", "assistant", "Answer", parent_message_uuid="1"),
            exports.claude_message("3", "human", "New", parent_message_uuid="root"),
            exports.claude_message("4", "assistant", "Answer", parent_message_uuid="3", **later),
        )
    )
    assert [message["content"] for message in read.messages] == ["New", "Answer"]
    assert read.left_out["other branches"] == 2


def test_an_archive_is_read_as_it_was_sent(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("data/conversations-000.json", json.dumps([exports.moving_house()]))
        archive.writestr("data/conversations-001.json", json.dumps([exports.claude(
            exports.claude_message("1", "human", "Hello"))]))  # fmt: skip
    assert [chat.name for chat in chats(tmp_path / "export.zip")] == ["chatgpt-c1", "claude-u1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ([], "no conversations"),
        ([exports.chatgpt(exports.chatgpt_node("q", "root", "user", ""))], "no conversations"),
        ([exports.moving_house(), {"a": 1}], "conversation 2 has another form"),
        ([{"messages": [{"content": "x"}]}], "message 1 has no role"),
        ([{"messages": ["x"]}], "message 1 is not a message"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chats(written(tmp_path, "conversations.json", content))


def test_an_archive_without_conversations_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("user.json", "{}")
    with pytest.raises(ValueError, match=r"no conversations\.json"):
        chats(tmp_path / "x.zip")


def test_rows_of_usual_forms_are_read(tmp_path: Path) -> None:
    rows = [
        {"session_id": "s1", "messages": [
            {"role": "user", "content": "Hi", "timestamp": 1_704_449_000},
            {"speaker": "Tom", "text": "Hello", "created_at": "2024-01-05T10:04:00Z"},
            {"sender": "human", "text": ""},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        ]},
    ]  # fmt: skip
    (read,) = chats(written(tmp_path, "old.jsonl", "\n".join(map(json.dumps, rows))))
    assert read.messages == [
        {"role": "user", "content": "Hi", "timestamp": "2024-01-05T10:03:20Z"},
        {"role": "user", "name": "Tom", "content": "Hello", "timestamp": "2024-01-05T10:04:00Z"},
        {"role": "assistant", "tool_calls": [{"id": "c"}]},
    ]
    assert read.left_out == {"empty messages": 1}


@pytest.mark.parametrize(
    ("name", "content", "is_chat"),
    [
        ("a.json", [exports.moving_house()], True),
        ("a.json", exports.claude(), True),
        ("a.jsonl", '{"role": "user", "content": "x"}\n{"role": "user", "content": "y"}', True),
        ("a.txt", "anything", True),
        ("a.json", {"results": [{"memory": "x"}]}, False),
        ("a.json", '{"memory": "x"}\n{"memory": "y"}', False),
    ],
)
def test_files_of_chats_are_told_from_files_of_memories(
    tmp_path: Path, name: str, content: Any, *, is_chat: bool
) -> None:
    assert has_chats(written(tmp_path, name, content)) is is_chat
