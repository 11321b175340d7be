"""Clients that are generated from the description, in two languages, send and receive everything
that it describes.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra import paths
from tests.e2e.stack import PATIENCE, Client
from tests.engines import npm

pytestmark = pytest.mark.e2e
DESCRIPTION = paths.LAYERS / "description" / "python" / "palimpsest_description" / "openapi.json"
PROGRAM = Path(__file__).with_name("clients") / "roundtrip.ts"
OPENAPI_TYPESCRIPT = npm.NODE_MODULES / "openapi-typescript" / "bin" / "cli.js"
TSC = npm.NODE_MODULES / "typescript" / "bin" / "tsc"
TOOL = {"id": "tool-1", "metadata": {"source": "handbook", "page": 7}, "content": "Form HR-101."}


def run(*command: str | Path) -> str:
    """The output of a command that must succeed; the tools of this environment are on its path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"PATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a Python client. Generating it must give no warning: what a generator can't
    express, it drops.
    """
    folder = tmp_path / "generated_client"
    run(
        sys.executable,
        "-m",
        "openapi_python_client",
        "generate",
        "--fail-on-warning",
        "--meta",
        "none",
        "--path",
        DESCRIPTION,
        "--output-path",
        folder,
    )
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_a_generated_python_client_sends_and_receives_everything(
    generated: Path, call: Client
) -> None:
    def module(name: str) -> Any:
        return importlib.import_module(f"{generated.name}.{name}")

    client = module("client").AuthenticatedClient(
        base_url=call.url,
        token=call.key,
        raise_on_unexpected_status=True,
        timeout=httpx.Timeout(PATIENCE),
    )
    models = module("models")

    def answer(operation: str, *path: str, **more: Any) -> Any:
        found = module(f"api.{operation}").sync_detailed(*path, client=client, **more)
        assert found.status_code in (200, 201), found.content
        return found.parsed

    wanted = models.NewTenantSettings(memory=models.Summarize(max_tokens=9_000), retention_days=7)
    settings = answer("administration.replace_settings", body=wanted)
    assert (settings.memory.to_dict(), settings.retention_days) == ({"max_tokens": 9_000}, 7)

    begin = models.NewSession(
        session_id="s", user_id="sarah", memory=models.Summarize(keep_recent_turns=2)
    )
    session = answer("sessions.create_session", body=begin)
    assert (
        session.memory.to_dict() | {"max_tokens": 9_000, "keep_recent_turns": 2}
        == session.memory.to_dict()
    )

    function = models.FunctionOfCall(name="find", arguments="{}")
    tool_call = models.FunctionCall(id="call_1", type_="function", function=function)
    metadata = models.ToolMessageMetadataType0.from_dict(TOOL["metadata"])
    tool = models.ToolMessage(
        role="tool", tool_call_id="call_1", id=TOOL["id"], metadata=metadata,
        content=[models.Part(type_="text", text=TOOL["content"])],
    )  # fmt: skip
    question = models.UserMessage(role="user", content="Which form do I need?")
    asking = models.AssistantMessage(role="assistant", tool_calls=[tool_call])
    answer(
        "messages.append_messages",
        "s",
        body=models.AppendRequest(messages=[question, asking, tool]),
    )
    row = answer("messages.read_history", "s").messages[2].to_dict()
    assert (row["client_id"], row["metadata"], row["tool_call_id"]) == (
        TOOL["id"],
        TOOL["metadata"],
        "call_1",
    )
    assert row["content"] == [{"type": "text", "text": TOOL["content"]}]

    context = answer(
        "context.get_context_for",
        "s",
        body=models.ContextRequest(message="And where do I send it?"),
    )
    assert context.tokens.context <= context.tokens.budget == 9_000
    assert [message.to_dict()["role"] for message in context.messages][:3] == [
        "user",
        "assistant",
        "tool",
    ]

    memory = models.NewMemory(
        type_=models.NewMemoryType("fact"), content="Sarah works in Marketing."
    )
    answer("memories.save_memories", "sarah", body=models.NewMemories(memories=[memory]))
    asked = models.RecallBody(
        query="Where does Sarah work?",
        filter_=models.AnyFilter(types=[models.AnyFilterTypesItem("fact")]),
    )
    recalled = answer("recall.recall", "sarah", body=asked)
    assert [found.content for found in recalled.memories] == ["Sarah works in Marketing."]


def test_a_typescript_program_with_generated_types_sends_and_receives_everything(
    tmp_path: Path, call: Client
) -> None:
    if not (OPENAPI_TYPESCRIPT.is_file() and TSC.is_file()):
        reason = "openapi-typescript and typescript are not installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    run(npm.NODE, OPENAPI_TYPESCRIPT, DESCRIPTION, "--output", tmp_path / "palimpsest.d.ts")
    program = shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run(
        npm.NODE,
        TSC,
        "--strict",
        "--target",
        "es2022",
        "--lib",
        "es2022,dom",
        "--module",
        "es2022",
        "--moduleResolution",
        "bundler",
        program,
    )
    said = json.loads(run(npm.NODE, tmp_path / "roundtrip.js", call.url, call.key))
    assert (
        said["settings"] | {"memory": {"max_tokens": 9_000}, "retention_days": 7}
        == said["settings"]
    )
    assert said["max_tokens"] == 9_000
    tool = said["tool"]
    assert (tool["client_id"], tool["metadata"], tool["tool_call_id"]) == (
        TOOL["id"],
        TOOL["metadata"],
        "call_1",
    )
    assert tool["content"] == [{"type": "text", "text": TOOL["content"]}]
    assert said["found"] == ["Sarah works in Marketing."]
    assert said["last"]["role"] in ("user", "tool")
