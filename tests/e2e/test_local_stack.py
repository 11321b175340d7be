"""What `make start`, `make stop` and the commands beside them do to a local stack."""

import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from infra import paths
from infra.local import saved_state
from infra.local.deploy import CONTEXT_FILE
from infra.operate import target
from infra.operate.manifest import TABLES
from infra.operate.target import Target
from tests.e2e.stack import PATIENCE, eventually, folder_of_its_own, processes_of
from tests.engines.loopback import free_port
from tests.unit.api.handlers import load

pytestmark = [pytest.mark.e2e, pytest.mark.own_stack]
LAYERS = sum(1 for folder in paths.LAYERS.iterdir() if folder.is_dir())
GIGABYTE = 10**9
SYNTHESIZED = "Synthesizing the stack"
CANARY = '{"deploy": "canary"}'


@dataclass(frozen=True, slots=True)
class Local:
    """A local stack in a folder of its own, driven by the commands."""

    folder: Path

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        told = os.environ | {"PALIMPSEST_LOCAL_DIR": str(self.folder)} | environment
        line = [sys.executable, "-m", *command]
        return subprocess.run(
            line, env=told, cwd=paths.PROJECT, check=False, capture_output=True, text=True
        )

    def start(self, port: int | str = "", **environment: str) -> str:
        done = self.run("infra.local", "start", "--port", str(port), **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def endpoint(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.folder / "endpoint.json").read_text())
        return found

    def answers(self) -> bool:
        with suppress(OSError):  # it has stopped already
            return self.call("GET", "/v1/health")[0] == HTTPStatus.OK
        return False

    def append_turn(self, number: int, *, session: str) -> int:
        question = {
            "role": "user",
            "content": f"Question {number}: " + "how many days may I work from home? " * 10,
        }
        answer = {"role": "assistant", "content": "Three, with your manager's approval. " * 10}
        return self.call(
            "POST",
            f"/v1/sessions/{session}/messages",
            {"user_id": "sarah", "messages": [question, answer]},
        )[0]

    def configure(self, session: str, *, max_tokens: int) -> None:
        body = {"session_id": session, "user_id": "sarah", "memory": {"max_tokens": max_tokens}}
        assert self.call("POST", "/v1/sessions", body)[0] == 201

    def history(self, session: str) -> list[Any]:
        """Every row, page after page: how many were acknowledged is the machine's speed."""
        rows: list[Any] = []
        cursor = ""
        while True:
            page = self.call("GET", f"/v1/sessions/{session}/messages?limit=100{cursor}")[1]
            rows += page["messages"]
            if page["next_cursor"] is None:
                return rows
            cursor = f"&cursor={quote(page['next_cursor'])}"

    def found(self, query: str) -> list[str]:
        asked = {"query": query, "mode": "keyword", "k": 50}
        answer = self.call("POST", "/v1/users/sarah/memories/search", asked)[1]
        return [memory["content"] for memory in answer.get("memories", ())]

    @property
    def place(self) -> Target:
        session = target.local_session(self.folder)
        return Target(self.endpoint["stack"], session, self.endpoint["aws_endpoint"])

    @property
    def tables(self) -> dict[str, str]:
        """The tables that serve, by the outputs that name them."""
        return {name: of for name, of in self.place.outputs().items() if name in TABLES}

    @property
    def live_models(self) -> dict[str, str]:
        """The models that callers may name, by the functions that serve with such a list."""
        client, found = self.place.client("lambda"), {}
        for name, function in self.place.outputs().items():
            if function.endswith(":live"):
                configuration = client.get_function_configuration(FunctionName=function)
                found[name] = configuration["Environment"]["Variables"].get("MODELS", "")
        return {name: model for name, model in found.items() if model}

    def delete(self, table: str, session: str) -> None:
        """Delete all items of a session of `make start`'s tenant."""
        values, dynamodb = {":pk": {"S": f"local#{session}"}}, self.place.client("dynamodb")
        found = dynamodb.query(
            TableName=table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=values
        )["Items"]
        for item in found:
            dynamodb.delete_item(TableName=table, Key={name: item[name] for name in ("pk", "sk")})

    @property
    def last_snapshot(self) -> float:
        """When the last complete one was taken, in seconds."""
        snapshot = saved_state.newest(self.folder / "state")
        return 0 if snapshot is None else int(snapshot.name) / 1e9

    def call(self, method: str, path: str, body: Any = None, *, key: str = "") -> tuple[int, Any]:
        headers = {
            "Authorization": f"Bearer {key or self.endpoint['api_key']}",
            "Content-Type": "application/json",
        }
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
        stack.run("infra.local", "reset", "--all")


@pytest.fixture(scope="module")
def greeting(local: Local) -> str:
    return local.start(free_port())


def test_the_printed_lines_can_be_pasted(local: Local, greeting: str) -> None:
    lines = re.findall(r"^    (\S.*)$", greeting, re.MULTILINE)
    assert len(lines) == 2, greeting
    there = {
        "PALIMPSEST_URL": local.endpoint["url"],
        "PALIMPSEST_API_KEY": local.endpoint["api_key"],
    }
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env=os.environ | there,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "I am Sarah from Marketing." in done.stdout


def test_a_start_ends_with_the_console_the_docs_the_demo_and_the_model_that_answers(
    greeting: str,
) -> None:
    assert re.search(r"^The API: +http://127\.0\.0\.1:\d+/\S+/v1/docs$", greeting, re.MULTILINE)
    assert re.search(r"^Look at it: +http://\S+/v1/console$", greeting, re.MULTILINE)
    assert "make demo" in greeting
    assert (
        "No model answers: summaries and memories are the conversation's own sentences." in greeting
    )


def test_without_a_key_nobody_comes_in(local: Local, greeting: str) -> None:
    assert local.call("GET", "/v1/sessions", key="pal_" + "x" * 43)[0] == 401


def test_a_key_made_by_the_command_works_until_it_is_revoked(local: Local, greeting: str) -> None:
    made = local.run("infra.operate.api_keys", "create", "--tenant", "acme", "--scopes", "read")
    first, second = (
        local.run("infra.operate.api_keys", "create", "--tenant", "acme").stdout.split()[0]
        for _ in range(2)
    )
    assert local.call("GET", "/v1/sessions?user_id=sarah", key=made.stdout.split()[0]) == (
        200, {"sessions": [], "next_cursor": None},
    )  # fmt: skip
    listed = local.run("infra.operate.api_keys", "list", "--tenant", "acme").stdout.splitlines()
    assert len(listed) == 3
    for line in listed:
        assert local.run("infra.operate.api_keys", "revoke", line.split()[0]).returncode == 0
    assert {
        local.call("GET", "/v1/sessions?user_id=sarah", key=key)[0] for key in (first, second)
    } == {401}


def test_a_taken_port_is_one_sentence_and_a_failure(
    local: Local, greeting: str, tmp_path: Path
) -> None:
    port = local.endpoint["aws_endpoint"].rpartition(":")[2]
    done = Local(tmp_path).run("infra.local", "start", "--port", port)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"Port {port} is in use by another program; choose another: make start PORT={int(port) + 1}"
    ]


def test_a_start_on_a_taken_port_leaves_the_running_stack_as_it_is(
    local: Local, greeting: str
) -> None:
    before, process = local.endpoint, (local.folder / "process.json").read_text()
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = local.run("infra.local", "start", "--port", str(other.getsockname()[1]))
    assert done.returncode == 1
    assert "in use by another program" in done.stderr
    assert (local.endpoint, (local.folder / "process.json").read_text()) == (before, process)
    assert local.call("GET", "/v1/sessions?user_id=sarah")[0] == HTTPStatus.OK


def test_each_layer_is_unpacked_once_however_many_processes_use_it(
    local: Local, greeting: str
) -> None:
    """So a first job, here a summary that is waited for, starts a function and unpacks what no
    other has needed.
    """
    local.configure("pruned", max_tokens=4000)
    for number in range(6):
        assert local.append_turn(number, session="pruned") == 201
    pruned, answer = local.call(
        "POST", "/v1/sessions/pruned/prune", {"strategy": "summarize", "wait": 20}
    )
    assert pruned in (200, 202), answer
    await_summary(local, "pruned")
    processes = processes_of(local.folder)
    assert all(
        process["AWS_LAMBDA_RUNTIME_API"] for process in processes
    )  # they build what they need while they start
    assert len(processes) >= 5  # authorize, sessions, dispatch, summarize …
    unpacked = {
        folder
        for process in processes
        for folder in process["_LAMBDA_LAYERS_DIRS"].split(os.pathsep)
    }
    assert len(unpacked) <= LAYERS
    assert list((local.folder / "tmp").glob("ministack-lambda-*/layer_*")) == []
    assert sum(file.stat().st_size for file in local.folder.rglob("*") if file.is_file()) < GIGABYTE


def test_nobody_else_can_read_what_the_stack_stores_or_logs(local: Local, greeting: str) -> None:
    assert local.append_turn(1, session="private") == 201
    written = [local.folder, *local.folder.rglob("*")]
    assert {"ministack.log", "endpoint.json", "lock", "cdk.out"} <= {path.name for path in written}
    assert [path for path in written if not path.is_symlink() and path.stat().st_mode & 0o077] == []


MAKE = re.compile(r'^(?:\w+=\S+ )?make ([a-z-]+)(?: ARGS="(.*)")?$', re.MULTILINE)
DRILL = "Data was deleted or damaged"
ROLLBACK = "A wrong deployment"


@dataclass(frozen=True, slots=True)
class Command:
    """A `make` command of the runbook: its target, its module, and its arguments on this stack."""

    name: str
    module: str
    arguments: tuple[str, ...]

    def run(self, local: Local, **others: str) -> subprocess.CompletedProcess[str]:
        """Run it, with other values than the page's for some of its options."""
        words = list(self.arguments)
        for option, value in others.items():
            words[words.index(f"--{option}") + 1] = value
        done = local.run(self.module, *words)
        assert done.returncode == 0, (self, done.stdout + done.stderr)
        return done


def runbook(section: str = "") -> list[Command]:
    """Every `make` command of the runbook, or of one of its sections."""
    makefile = (paths.PROJECT / "Makefile").read_text()
    page = (paths.PROJECT / "docs" / "runbook.md").read_text()
    if section:
        page = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    commands = []
    for name, arguments in MAKE.findall(page):
        module = re.search(rf"^{name}:.*\n\t@\$\(PYTHON\) -m (\S+)", makefile, re.MULTILINE)
        assert module is not None, f"make {name}"
        words = shlex.split(arguments.replace("--stack Palimpsest-prod", ""))
        commands.append(Command(name, module[1], tuple(words)))
    assert commands, section
    return commands


def test_every_command_of_the_runbook_works(local: Local, greeting: str) -> None:
    create = ("create", "--tenant", "acme", "--label", "laptop")
    assert local.run("infra.operate.api_keys", *create).returncode == 0
    local.configure("looked-at", max_tokens=600)
    assert [local.append_turn(number, session="looked-at") for number in range(4)] == [201] * 4
    await_summary(local, "looked-at")
    (job, *_) = local.call("GET", "/v1/jobs?session_id=looked-at")[1]["jobs"]
    of_other_tests = {*runbook(DRILL), *runbook(ROLLBACK)}
    said: dict[str, str] = {}
    for command in runbook():
        if command not in of_other_tests:
            others = {"job": job["job_id"]} if "--job" in command.arguments else {}
            key = " ".join([command.name, *command.arguments[:1]])
            said[key] = command.run(local, **others).stdout
    assert "queue Summarize: 0 wait" in said["status"]
    assert "job step done" in said["status --job"]
    assert "refused" in said["status --refused"]
    assert "looked at" in said["sweep"]
    assert "Revoked" in said["api-key revoke"]


def restored_beside(local: Local, restore: Command, *, rows: str) -> str:
    """Restore the tables beside those in use, with each row as the manifest has it; returns the
    moment that ends their names.
    """
    moments: list[str] = []

    def are_restored() -> bool:
        assert local.run("infra.operate.manifest", "--out", rows).returncode == 0
        said = restore.run(local, at="latest").stdout
        moments.append(said.rpartition("-restored-")[2].partition(":")[0])
        chosen = ("--serve", moments[-1], "--only-tables", "--manifest", rows)
        done = local.run(restore.module, *chosen)
        if "do not serve" in done.stderr:  # a worker wrote in the meantime
            return False
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.count("the manifest, 0 differ, 0 are missing, 0 are not in it") == 3

    eventually(are_restored)
    return moments[-1]


def test_a_drill_lost_conversations_are_restored_into_service(
    local: Local, greeting: str, tmp_path: Path
) -> None:
    """By the commands of the runbook, in their order. The tables are restored before the loss, as
    this stack has no earlier second.
    """
    restore, serve, reindex, undo = runbook(DRILL)
    assert local.append_turn(1, session="lost") == 201
    before, tables = local.history("lost"), local.tables
    moment = restored_beside(local, restore, rows=str(tmp_path / "rows"))
    assert local.tables == tables
    local.delete(tables["SessionsTable"], "lost")
    assert local.call("GET", "/v1/sessions/lost/messages")[0] == HTTPStatus.NOT_FOUND

    (local.folder / CONTEXT_FILE).write_text(CANARY)
    said = serve.run(local, serve=moment).stdout
    assert re.search(r"the table in use, \d+ differ, \d+ are missing, [1-9]\d* are not in it", said)
    assert local.tables == {name: f"{of}-restored-{moment}" for name, of in tables.items()}
    assert local.history("lost") == before
    local.configure("after", max_tokens=600)
    assert [local.append_turn(number, session="after") for number in range(4)] == [201] * 4
    await_summary(local, "after")  # the restored table's stream starts the work
    reindex.run(local)
    refused = local.run(restore.module, "--at", "2026-01-05T09:00:00Z")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "can be restored from" in refused.stderr

    undo.run(local)
    assert local.tables == tables
    assert local.call("GET", "/v1/sessions/lost/messages")[0] == HTTPStatus.NOT_FOUND


def test_functions_behind_aliases_answer_the_smoke_test_and_go_back_by_one_deployment(
    local: Local, greeting: str
) -> None:
    (local.folder / CONTEXT_FILE).write_text(CANARY)  # as the drill has left it
    local.start()
    before, smoke, client = local.live_models, load("smoke"), local.place.client("lambda")
    assert len(before) == 3  # sessions, memories, summarize
    for output, function in local.place.outputs().items():
        if output.endswith("Function"):
            assert smoke.answers(client, function.removesuffix(":live"), version="live"), output

    local.start(MODELS="a-bad-choice")
    assert all("a-bad-choice" in models for models in local.live_models.values())
    (rollback,) = runbook(ROLLBACK)
    assert len(rollback.run(local).stdout.splitlines()) >= len(before)
    assert local.live_models == before
    assert local.append_turn(1, session="after-rollback") == 201
    again = rollback.run(local).stdout
    assert again.endswith("is where it was before its last deployment.\n")
    (local.folder / CONTEXT_FILE).unlink()


def test_killed_in_the_middle_of_appends_it_has_what_was_acknowledged_before_the_last_snapshot(
    local: Local, greeting: str
) -> None:
    key = local.endpoint["api_key"]
    local.configure("killed", max_tokens=600)
    assert [local.append_turn(number, session="killed") for number in range(4)] == [
        201
    ] * 4  # a job is pending
    with writing(local, "talk") as acknowledged:
        eventually(lambda: len(acknowledged) > 2 and local.last_snapshot > acknowledged[2][0] + 1)
        os.kill(json.loads((local.folder / "process.json").read_text())["pid"], signal.SIGKILL)
        killed = time.time()
    said = local.start(free_port())
    found = re.search(
        r"did not end in order. Found its snapshot of (.+?): what was .+ \((\d+) s at most\) is "
        r"lost",
        said,
    )
    assert found, said
    saved = time.mktime(time.strptime(found[1], "%Y-%m-%d %H:%M:%S"))
    assert killed - saved < int(
        found[2]
    )  # 10, unless a busy machine took long to write the snapshot

    kept = [row["content"] for row in local.history("talk")]
    due = [text for at, text in acknowledged if at < saved]
    assert kept[: len(due)] == due
    assert local.endpoint["api_key"] == key
    await_summary(local, "killed")
    eventually(lambda: due[-1] in local.found(due[-1]))


def test_stopped_under_load_and_started_at_once_on_another_port_it_has_all_and_goes_on(
    local: Local, greeting: str
) -> None:
    local.configure("stopped", max_tokens=600)
    before = local.endpoint
    assert [local.append_turn(number, session="stopped") for number in range(4)] == [201] * 4
    with writing(local, "a") as one, writing(local, "b") as other, ThreadPoolExecutor() as commands:
        eventually(lambda: len(one) > 2 and len(other) > 2)
        stopped = commands.submit(local.run, "infra.local", "stop")
        eventually(lambda: not local.answers())
        said = local.start(free_port())
        assert stopped.result().stdout.strip() == "The local stack has stopped; its data is kept."
    assert "Found what the last stop saved" in said
    assert SYNTHESIZED not in said  # nothing that the stack is made from has changed
    assert local.endpoint["aws_endpoint"] != before["aws_endpoint"]
    assert local.endpoint["api_key"] == before["api_key"]
    for session, acknowledged in (("a", one), ("b", other)):
        texts = [text for _, text in acknowledged]
        kept = [row["content"] for row in local.history(session)]
        assert kept[: len(texts)] == texts
        assert len(kept) <= len(texts) + 1  # one that was stored, whose answer nobody heard
    await_summary(local, "stopped")
    assert local.append_turn(9, session="stopped") == 201


def test_a_reset_forgets_all_but_the_port_the_address_and_the_key(
    local: Local, greeting: str
) -> None:
    before = local.endpoint
    local.append_turn(1, session="forgotten")
    assert (
        local.run("infra.local", "reset").stdout.strip()
        == "The local stack has stopped, and its data is deleted."
    )
    local.start()
    assert local.endpoint == before
    assert local.call("GET", "/v1/sessions")[1]["sessions"] == []
    assert local.run("infra.local", "reset", "--all").returncode == 0
    assert not local.folder.exists()


@contextmanager
def writing(local: Local, session: str) -> Iterator[list[tuple[float, str]]]:
    """One append after the other until one is not acknowledged; those that are, each with the time
    of its answer.
    """
    acknowledged: list[tuple[float, str]] = []

    def write() -> None:
        with suppress(OSError, http.client.HTTPException, ValueError):
            while True:
                text = f"In {session} number {len(acknowledged)} was said."
                body = {"user_id": "sarah", "messages": [{"role": "user", "content": text}]}
                if (
                    local.call("POST", f"/v1/sessions/{session}/messages", body)[0]
                    != HTTPStatus.CREATED
                ):
                    return
                acknowledged.append((time.time(), text))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield acknowledged
    finally:
        writer.join()


def await_summary(local: Local, session: str) -> None:
    """Return once an overflow went the whole way: stream, queue, function, commit."""
    eventually(lambda: local.call("GET", f"/v1/sessions/{session}/compactions")[1]["compactions"])
