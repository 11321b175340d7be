"""What `make start`, `make stop` and the commands beside them do to a local stack."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra import paths
from tests.e2e.stack import PATIENCE, eventually, folder_of_its_own
from tests.engines.loopback import free_port

pytestmark = pytest.mark.e2e
LAYERS = sum(1 for folder in paths.LAYERS.iterdir() if folder.is_dir())
GIGABYTE = 10**9


@dataclass(frozen=True, slots=True)
class Local:
    """A local stack in a folder of its own, driven by the commands."""

    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        told = os.environ | {"PALIMPSEST_LOCAL_DIR": str(self.folder)}
        line = [sys.executable, "-m", *command]
        return subprocess.run(line, env=told, cwd=paths.PROJECT, check=False, capture_output=True, text=True)

    def start(self, port: int) -> str:
        done = self.run("infra.local", "start", "--port", str(port))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def endpoint(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.folder / "endpoint.json").read_text())
        return found

    def append_turn(self, number: int, *, session: str = "kept") -> int:
        question = {"role": "user", "content": f"Question {number}: " + "how many days may I work from home? " * 10}
        answer = {"role": "assistant", "content": "Three, with your manager's approval. " * 10}
        return self.call(
            "POST", f"/v1/sessions/{session}/messages", {"user_id": "sarah", "messages": [question, answer]}
        )[0]

    def call(self, method: str, path: str, body: Any = None, *, key: str = "") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {key or self.endpoint['api_key']}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.endpoint["url"] + path, data, headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    stack = Local(folder_of_its_own())
    try:
        yield stack
    finally:
        stack.run("infra.local", "reset")


@pytest.fixture(scope="module")
def greeting(local: Local) -> str:
    return local.start(free_port())


def test_the_printed_line_can_be_pasted(greeting: str) -> None:
    line = re.search(r"^curl .*?^$", greeting, re.MULTILINE | re.DOTALL)
    assert line is not None, greeting
    done = subprocess.run(["bash", "-c", line[0]], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["messages"][0]["seq"] == 1


def test_a_start_ends_by_saying_where_the_docs_are_how_to_see_the_demo_and_which_model_answers(greeting: str) -> None:
    assert re.search(r"^The API with examples: http://127\.0\.0\.1:\d+/\S+/v1/docs$", greeting, re.MULTILINE)
    assert "make demo" in greeting
    assert "No model answers: summaries and memories are the conversation's own sentences." in greeting


def test_without_a_key_nobody_comes_in(local: Local, greeting: str) -> None:
    assert local.call("GET", "/v1/sessions", key="pal_" + "x" * 43)[0] == 403


def test_a_key_made_by_the_command_works_until_it_is_revoked(local: Local, greeting: str) -> None:
    made = local.run("infra.operate.api_keys", "create", "--tenant", "acme", "--scopes", "read")
    first, second = (
        local.run("infra.operate.api_keys", "create", "--tenant", "acme").stdout.split()[0] for _ in range(2)
    )
    assert local.call("GET", "/v1/sessions?user_id=sarah", key=made.stdout.split()[0]) == (
        200, {"sessions": [], "next_cursor": None},
    )  # fmt: skip
    listed = local.run("infra.operate.api_keys", "list", "--tenant", "acme").stdout.splitlines()
    assert len(listed) == 3
    for line in listed:
        assert local.run("infra.operate.api_keys", "revoke", line.split()[0]).returncode == 0
    assert {local.call("GET", "/v1/sessions?user_id=sarah", key=key)[0] for key in (first, second)} == {403}


def test_a_taken_port_is_one_sentence_and_a_failure(local: Local, greeting: str, tmp_path: Path) -> None:
    port = local.endpoint["aws_endpoint"].rpartition(":")[2]
    done = Local(tmp_path).run("infra.local", "start", "--port", port)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"Port {port} is in use by another program; choose another: make start PORT={int(port) + 1}"
    ]


def test_each_layer_is_unpacked_once_however_many_processes_use_it(local: Local, greeting: str) -> None:
    """So a first job, here a summary that is waited for, starts a function and unpacks what no other has needed."""
    memory = {"strategy": "summarize", "max_tokens": 4000}
    local.call("POST", "/v1/sessions", {"session_id": "pruned", "user_id": "sarah", "memory": memory})
    for number in range(6):
        assert local.append_turn(number, session="pruned") == 201
    pruned, answer = local.call("POST", "/v1/sessions/pruned/prune", {"strategy": "summarize", "wait": 20})
    assert pruned in (200, 202), answer
    await_summary(local, "pruned")
    temporary = local.folder / "tmp"
    assert len(list(temporary.glob("ministack-lambda-*"))) >= 5  # processes: authorize, sessions, dispatch, summarize …
    assert len(list((temporary / "layers").iterdir())) <= LAYERS
    assert list(temporary.glob("ministack-lambda-*/layer_*")) == []
    assert sum(file.stat().st_size for file in local.folder.rglob("*") if file.is_file()) < GIGABYTE


def test_on_another_port_it_has_all_it_stored_and_goes_on_working(local: Local, greeting: str) -> None:
    memory = {"strategy": "summarize", "max_tokens": 600}
    assert local.call("POST", "/v1/sessions", {"session_id": "kept", "user_id": "sarah", "memory": memory})[0] < 300
    before = local.endpoint
    assert local.append_turn(1) == 201
    assert local.run("infra.local", "stop").stdout.strip() == "The local stack has stopped; its data is kept."

    local.start(free_port())
    assert local.endpoint["aws_endpoint"] != before["aws_endpoint"]
    assert local.endpoint["api_key"] == before["api_key"]
    assert [local.append_turn(number) for number in range(2, 6)] == [201] * 4
    assert len(local.call("GET", "/v1/sessions/kept/messages")[1]["messages"]) == 10
    await_summary(local, "kept")


def await_summary(local: Local, session: str) -> None:
    """Return once an overflow went the whole way: stream, queue, function, commit."""
    eventually(lambda: local.call("GET", f"/v1/sessions/{session}/compactions")[1]["compactions"])
