"""Anthropic's memory tool keeps its files here: run by test_adapters in an environment of its
own.
"""

import uuid
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from palimpsest_client import Palimpsest
from palimpsest_client.integrations.anthropic_memory import PalimpsestMemoryTool

FILE, OTHER = "/memories/notes.md", "/memories/deep/er/tea.md"
COMMANDS: list[dict[str, Any]] = [
    {"command": "create", "path": FILE, "file_text": "likes tea\nlives in Hamburg\nlikes tea\n"},
    {"command": "create", "path": FILE, "file_text": "again"},
    {"command": "create", "path": OTHER, "file_text": ""},
    {"command": "view", "path": FILE},
    {"command": "view", "path": FILE, "view_range": [2, 3]},
    {"command": "view", "path": "/memories/nothing"},
    {"command": "str_replace", "path": FILE, "old_str": "Hamburg", "new_str": "Bremen"},
    {"command": "str_replace", "path": FILE, "old_str": "likes tea", "new_str": "x"},
    {"command": "str_replace", "path": FILE, "old_str": "absent", "new_str": "x"},
    {"command": "insert", "path": FILE, "insert_line": 1, "insert_text": "owns a dog\n"},
    {"command": "insert", "path": FILE, "insert_line": 99, "insert_text": "x"},
    {"command": "view", "path": FILE},
    {"command": "rename", "old_path": FILE, "new_path": "/memories/sarah.md"},
    {"command": "rename", "old_path": OTHER, "new_path": "/memories/sarah.md"},
    {"command": "rename", "old_path": FILE, "new_path": "/memories/x.md"},
    {"command": "view", "path": "/memories/sarah.md"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "create", "path": "/etc/passwd", "file_text": "x"},
    {"command": "delete", "path": "/memories/deep"},
    {"command": "view", "path": OTHER},
    {"command": "delete", "path": "/memories"},
]


@pytest.fixture
def tool() -> PalimpsestMemoryTool:
    return PalimpsestMemoryTool(user=f"u-{uuid.uuid4().hex}")


def answer(tool: BetaAbstractMemoryTool, command: dict[str, Any]) -> str:
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"error: {error}"


def test_every_command_answers_as_the_sdks_own_tool_does(
    tool: PalimpsestMemoryTool, tmp_path: Path
) -> None:
    own = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in COMMANDS:
        assert answer(tool, command) == answer(own, command), command
    assert "sarah.md" in answer(tool, {"command": "view", "path": "/memories"})


def test_files_are_there_for_the_next_conversation_and_for_no_other_user(
    tool: PalimpsestMemoryTool,
) -> None:
    user = tool._owner.id
    tool.call(
        {"command": "create", "path": FILE, "file_text": "Sarah lives in Hamburg.\r\nTabs\tstay."}
    )
    view = {"command": "view", "path": FILE}
    assert "Hamburg.\r\n" in answer(PalimpsestMemoryTool(user=user), view)
    assert answer(PalimpsestMemoryTool(user=f"{user}-2"), view).startswith("error: ")


def test_what_was_written_over_stays_in_the_history_and_recall_finds_a_file(
    tool: PalimpsestMemoryTool,
) -> None:
    sarah = Palimpsest().user(tool._owner.id)
    tool.call({"command": "create", "path": FILE, "file_text": "Sarah lives in Hamburg."})
    tool.call({"command": "str_replace", "path": FILE, "old_str": "Hamburg", "new_str": "Bremen"})
    (file,) = sarah.memories()
    assert [version["data"]["text"] for version in sarah.history(file["id"])] == [
        "Sarah lives in Bremen.", "Sarah lives in Hamburg.",
    ]  # fmt: skip
    assert "Bremen" in sarah.recall("Where does Sarah live?")["memories"][0]["content"]


def test_a_path_that_somebody_planted_leads_nowhere(
    tool: PalimpsestMemoryTool, tmp_path: Path
) -> None:
    sarah, there = Palimpsest().user(tool._owner.id), tmp_path / "planted"
    tool.call({"command": "create", "path": FILE, "file_text": "x"})
    for path in (str(there), f"/memories/../..{there}", f"/memories/../../../../../..{there}"):
        sarah.remember(
            f"File {path}", data={"path": path, "text": "evil"}, metadata={"store": "anthropic"}
        )
    assert answer(tool, {"command": "view", "path": FILE}).endswith("x")
    assert not there.exists()


def test_a_file_that_is_too_large_is_refused_and_the_model_reads_why(
    tool: PalimpsestMemoryTool,
) -> None:
    assert answer(tool, {"command": "create", "path": FILE, "file_text": "x" * 20_000}).startswith(
        "error: Nothing was"
    )
    assert answer(tool, {"command": "view", "path": FILE}).startswith("error: The path")


def test_everything_can_be_cleared(tool: PalimpsestMemoryTool) -> None:
    tool.call({"command": "create", "path": FILE, "file_text": "x"})
    assert tool.clear_all_memory() == "All memory cleared"
    assert list(Palimpsest().user(tool._owner.id).memories()) == []
