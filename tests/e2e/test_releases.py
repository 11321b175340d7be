"""This release reads what each earlier release wrote, does the work that was pending then, and
continues every conversation.
"""

import base64
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from infra.local import access_key
from infra.operate.target import REGION
from infra.paths import PROJECT
from tests.e2e.stack import PATIENCE, Client, Stack
from tests.releases import before
from tests.releases.fixture import (
    ANSWERS,
    ITEMS,
    JOBS,
    OBJECTS,
    TENANT,
    difference,
    lines,
    releases,
    shortened,
)

pytestmark = pytest.mark.e2e
SARAH = "/v1/users/sarah"
BATCH = 25


@pytest.fixture(scope="module", params=releases())
def release(request: pytest.FixtureRequest, running: Stack) -> str:
    written: str = request.param
    running.use_model(wanted=False)
    put_items(running, written, are_pending=False)
    bucket = running.outputs["ContentsBucket"]
    for line in lines(written, OBJECTS):
        content = gzip.decompress(base64.b64decode(line["gzip"]))
        running.place.client("s3").put_object(Bucket=bucket, Key=line["key"], Body=content)
    return written


@pytest.fixture(scope="module")
def call(release: str, running: Stack) -> Client:
    return running.client(tenant=TENANT)


def put_items(stack: Stack, release: str, *, are_pending: bool) -> None:
    """Store the pending jobs, or all other items, as that release did. The stream shows each of
    them.
    """
    client = stack.place.client("dynamodb")
    for output in ("TenantsTable", "SessionsTable", "MemoriesTable"):
        wanted = [
            {"PutRequest": {"Item": stored(line["item"])}}
            for line in lines(release, ITEMS)
            if line["table"] == output and is_pending(line["item"]) is are_pending
        ]
        for first in range(0, len(wanted), BATCH):
            batch = {stack.outputs[output]: wanted[first : first + BATCH]}
            assert not client.batch_write_item(RequestItems=batch)["UnprocessedItems"]


def is_pending(item: dict[str, Any]) -> bool:
    return bool(item["sk"]["S"] == "job" and item["state"]["S"] == "pending")


def stored(item: dict[str, Any]) -> dict[str, Any]:
    """The item as it was soon after it was written. The database does not delete it, the sweep
    does not take its job for a stuck job, and its idempotency key has not expired.
    """
    fresh = {name: value for name, value in item.items() if name != "ttl"}
    soon = {"N": str(int(time.time()) + PATIENCE)}
    if is_pending(item):
        fresh["due_at"] = soon
    if item["type"]["S"] == "key":
        fresh["expires_at"] = soon
    return {
        name: {"B": base64.b64decode(value["B"])} if "B" in value else value
        for name, value in fresh.items()
    }


def test_every_answer_is_the_one_that_the_release_gave(release: str, call: Client) -> None:
    answers = lines(release, ANSWERS)
    assert len(answers) > 20
    found = {kept["path"]: call("GET", kept["path"]) for kept in answers}
    assert {answer.status for answer in found.values()} == {200}
    differences = {
        kept["path"]: difference(kept["answer"], shortened(found[kept["path"]].json))
        for kept in answers
    }
    assert {path: each for path, each in differences.items() if each is not None} == {}


def test_a_call_with_a_key_of_the_release_before_is_replayed(release: str, call: Client) -> None:
    before = call.history("days")
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": "Something else."}]}
    keyed = {"Idempotency-Key": "first-append"}
    assert call("POST", "/v1/sessions/days/messages", body, headers=keyed).status == 409
    assert call.history("days") == before


def test_the_work_that_was_pending_is_done(release: str, running: Stack, call: Client) -> None:
    put_items(running, release, are_pending=True)
    pending = {line["about"]: line["job_id"] for line in lines(release, JOBS)}
    assert len(pending) > 5
    states = {about: call.job(job_id)["state"] for about, job_id in pending.items()}
    assert states == dict.fromkeys(pending, "done")
    assert call("GET", "/v1/sessions/waiting/compactions").json["compactions"]
    assert call("GET", "/v1/sessions/ended").status == 404
    assert call.history("removed")[1]["content"] == "[redacted]"
    assert "Oslo" not in call("GET", f"{SARAH}/memories", query={"limit": 100}).text


def test_conversations_and_memories_continue_where_the_release_before_left_them(
    release: str, call: Client
) -> None:
    before = call.history("life")
    answer = call.append("life", "I have moved to Oldenburg.")
    assert answer.json["messages"][0]["seq"] == before[-1]["seq"] + 1
    assert [row["id"] for row in call.history("life")[:-1]] == [row["id"] for row in before]
    call.ended(call("POST", "/v1/sessions/life/extract", {"wait": 20}))
    memories = call("GET", f"{SARAH}/memories", query={"limit": 100}).json["memories"]
    homes = [memory["content"] for memory in memories if "Berlin" in memory["content"]]
    assert any("Oldenburg" in memory["content"] for memory in memories)
    assert homes == []  # superseded
    context = call("GET", "/v1/sessions/handbook/context").json["messages"]
    assert context[-1]["content"] == call.history("handbook")[-1]["content"]


def test_the_release_before_reads_what_this_one_wrote(
    release: str, running: Stack, call: Client, tmp_path: Path
) -> None:
    if release != releases()[-1]:
        pytest.skip("Only the last release and this one are in use at the same time.")
    before.unpack(release, tmp_path)
    paths = [f"/v1/sessions/{name}/messages?limit=100" for name in ("life", "days", "removed")]
    paths += ["/v1/sessions/waiting/compactions", "/v1/settings", "/v1/jobs?user_id=sarah"]
    memories = [f"{SARAH}/memories?limit=100", f"{SARAH}/preferences", f"{SARAH}/graph/entities"]
    for function, read in {"sessions": paths, "memories": memories}.items():
        for path, (status, answer) in zip(
            read, answers_of(running, function, tmp_path, read), strict=True
        ):
            assert status == 200, answer
            assert difference(answer, call("GET", path).json) is None, path


def answers_of(stack: Stack, function: str, code: Path, paths: list[str]) -> list[Any]:
    """The answers of that code as the function of the running stack, with an operator's rights."""
    name = stack.outputs[f"{function.capitalize()}Function"]
    found = stack.place.client("lambda").get_function_configuration(FunctionName=name)
    key = access_key.read(stack.folder)
    environment = {
        **found["Environment"]["Variables"],
        "AWS_ENDPOINT_URL": stack.place.endpoint or "",
        "AWS_ACCESS_KEY_ID": key.id,
        "AWS_SECRET_ACCESS_KEY": key.secret,
        "AWS_DEFAULT_REGION": REGION,
        "POWERTOOLS_LOG_LEVEL": "CRITICAL",
    }
    command = [sys.executable, "-m", "tests.releases.before", str(code), function, *paths]
    done = subprocess.run(
        command, cwd=PROJECT, env=os.environ | environment, check=False, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def test_a_user_whom_the_release_before_stored_is_erased(call: Client) -> None:
    assert call.job(call("DELETE", SARAH).json["job_id"])["state"] == "done"
    assert call("GET", f"{SARAH}/memories").json["memories"] == []
