"""Has this release write data of every kind, and keeps it as a fixture that later releases read.

python -m tests.releases.write

It starts a local stack in a folder of its own, talks to it as callers do, and stores what is in the
tables and the bucket. It also stores the answers that the release itself gave to
reading calls. Then workers are stopped, and calls start a job of every kind, so that some work is
pending, as it is while a release takes the place of another.
"""

import base64
import gzip
import json
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infra import paths, release
from infra.app import application
from infra.local.deploy import IN_PLACE
from tests.e2e.stack import Client, Stack, eventually, folder_of_its_own
from tests.releases.before import CODE, CORE, READERS
from tests.releases.fixture import (
    ANSWERS,
    ITEMS,
    JOBS,
    NOTES,
    OBJECTS,
    RELEASES,
    TABLES,
    TEMPLATES,
    TENANT,
    digest,
    shortened,
)
from tests.releases.templates import stateful

SARAH, TOM = "/v1/users/sarah", "/v1/users/tom"
CONTEXTS = {
    "dev": {"stage": "dev"},
    "prod": {"stage": "prod"},
    "prod-dynamodb": {"stage": "prod", "search": "dynamodb"},
}
LARGE = "The minutes of the meeting say this. " * 16_000
"""A content that fits no item of a table."""


def write(stack: Stack) -> dict[str, list[Any]]:
    """Return what is to be kept, by file: one value a line."""
    call = stack.client(tenant=TENANT)
    _settle(call)
    _talk(call)
    _remember(call)
    _remove(call)
    eventually(lambda: _is_quiet(call))
    _stop_workers(stack)
    jobs = [{"about": about, "job_id": make(call)} for about, make in PENDING.items()]
    answers = [{"path": path, "answer": shortened(_asked(call, path))} for path in _readings(call)]
    return {
        ANSWERS: answers,
        JOBS: jobs,
        ITEMS: list(_items(stack)),
        OBJECTS: list(_objects(stack)),
    }


def _settle(call: Client) -> None:
    """What is the tenant's own. Nothing expires, because the fixture is read for years."""
    for path, body in (
        ("/v1/settings", {"retention_days": None, "memory_days": None}),
        ("/v1/static-facts/office", {"content": "The office is open from 8 to 18."}),
        ("/v1/static-facts/tone", {"content": "Answer politely.", "agent_id": "hr"}),
        (SARAH, {"name": "Sarah", "aliases": ["sj"]}),
    ):
        assert call("PUT", path, body).status < 300, path


def _talk(call: Client) -> None:
    """Sessions whose window overflowed, with calls of tools, a large content, pins and an end."""
    call.job(call.overflow("handbook"))
    tool = {"id": "call_1", "type": "function", "function": {"name": "days", "arguments": "{}"}}
    turn = [
        {"role": "user", "content": "How many days do I have left?"},
        {"role": "assistant", "content": None, "tool_calls": [tool]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12"},
        {"role": "assistant", "content": "You have 12 days left.", "metadata": {"source": "hr"}},
    ]
    days = {"session_id": "days", "user_id": "sarah", "agent_id": "hr"}
    assert call("POST", "/v1/sessions", {**days, "system": "You answer for HR."}).status == 201
    body = {"user_id": "sarah", "messages": turn}
    keyed = {"Idempotency-Key": "first-append"}
    path = "/v1/sessions/days/messages"
    for _ in range(2):  # stored, then replayed
        answer = call("POST", path, body, headers=keyed)
        assert answer.status in (200, 201), answer.text
    assert call.append("minutes", LARGE).status == 201
    call.append("ended", "I start on 1 March.")
    _done(call, call("POST", "/v1/sessions/ended/end", {"wait": 20}))


def _remember(call: Client) -> None:
    """Memories by extraction and by hand, with versions, ends, grounds, vectors and a graph."""
    for text in (
        "My name is Sarah. I work in Marketing and I live in Hamburg.",
        "I have an appointment with the dentist on 3 December.",
        "I have moved to Berlin. I don't drink coffee anymore.",
    ):
        call.append("life", text)
        _done(call, call("POST", "/v1/sessions/life/extract", {"wait": 20}))
    facts = [
        {"type": "fact", "content": "Sarah leads the launch.", "topic_key": "role",
         "metadata": {"channel": "mail"}, "importance": 0.9},
        {"type": "event", "content": "Sarah went to Oslo.", "occurs_at": "2026-05-04T00:00:00Z"},
        {"type": "instruction", "content": "Answer in two sentences."},
    ]  # fmt: skip
    call("POST", f"{SARAH}/memories", {"memories": facts})
    newer = {"type": "fact", "content": "Sarah leads the team.", "topic_key": "role"}
    call("POST", f"{SARAH}/memories", {"memories": [newer]})
    call("PUT", f"{SARAH}/preferences", {"preferences": {"language": "German", "emoji": False}})
    vectors = [{"id": "photo", "values": [0.1, 0.2, 0.3], "metadata": {"album": "Rome"}}]
    call("POST", f"{SARAH}/vectors", {"vectors": vectors})
    company = {"type": "Company", "name": "Acme", "properties": {"employees": 120}}
    made = call("POST", f"{SARAH}/graph/entities", {"entities": [company]}).json["entities"]
    works = {"type": "WORKS_AT", "from": "sarah", "to": made[0]["id"], "single": True}
    call("POST", f"{SARAH}/graph/relationships", {"relationships": [works]})
    tea = {"format": "mem0", "data": {"results": [{"id": "1", "memory": "Tom likes tea."}]}}
    assert call("POST", f"{TOM}/import", tea).status == 200
    for user in ("tom", "ute"):
        fact = {"type": "fact", "content": f"{user.capitalize()} has a dog."}
        call("POST", f"/v1/users/{user}/memories", {"memories": [fact]})


def _remove(call: Client) -> None:
    """A redacted message, a withdrawn one, a deleted session and memory, and an export."""
    call.append("removed", "My card is lost.", "My flat is in Lange Reihe.", "Good bye.")
    path = "/v1/sessions/removed/messages"
    _done(call, call("PATCH", f"{path}/1", {"content": "[redacted]", "wait": 20}))
    call("DELETE", path, query={"from": 3})
    call.append("gone", "This session is deleted.")
    call("DELETE", "/v1/sessions/gone")
    made = {"memories": [{"type": "fact", "content": "Sarah has a red bike."}]}
    (bike,) = call("POST", f"{SARAH}/memories", made).json["memories"]
    call("DELETE", f"{SARAH}/memories/{bike['id']}")
    _done(call, call("POST", f"{TOM}/export"))


def _readings(call: Client) -> Iterator[str]:
    """The reading calls whose answers are kept."""
    yield from ("/v1/settings", "/v1/static-facts", "/v1/static-facts/tone", "/v1/users")
    for session in ("handbook", "days", "minutes", "life", "removed", "waiting"):
        yield from (f"/v1/sessions/{session}", f"/v1/sessions/{session}/messages?limit=100")
    yield "/v1/sessions/handbook/compactions"
    memories = f"{SARAH}/memories?limit=100"
    yield from (SARAH, memories, f"{TOM}/memories")
    for memory in _asked(call, memories)["memories"]:
        yield f"{SARAH}/memories/{memory['id']}/history"
    yield from (f"{SARAH}/preferences", f"{SARAH}/vectors/stats")
    yield from (f"{SARAH}/graph/entities", f"{SARAH}/graph/relationships")


def _asked(call: Client, path: str) -> Any:
    answer = call("GET", path)
    assert answer.status == 200, f"{path}: {answer.text}"
    return answer.json


def _started(method: str, path: str, body: object = None, **query: object) -> Callable[..., str]:
    def make(call: Client) -> str:
        answer = call(method, path, body, query=query)
        assert answer.status in (200, 202), f"{path}: {answer.text}"
        return str(answer.json["job_id"])

    return make


def _overflown(call: Client) -> str:
    return call.overflow("waiting", about="travel")


PENDING: dict[str, Callable[[Client], str]] = {
    "a summary": _overflown,
    "an extraction": _started("POST", "/v1/sessions/days/extract", {}),
    "a deleted session": _started("DELETE", "/v1/sessions/ended", keep_memories="true"),
    "a redaction": _started("PATCH", "/v1/sessions/removed/messages/2", {"content": "[redacted]"}),
    "forgotten memories": _started(
        "POST", f"{SARAH}/memories/forget", {"filter": {"types": ["event"]}}
    ),
    "an erased user": _started("DELETE", "/v1/users/ute"),
    "an export": _started("POST", f"{SARAH}/export"),
}
"""Calls that start a job, while no worker runs. Each returns the job's id."""


def _done(call: Client, answer: Any) -> None:
    assert call.ended(answer)["state"] == "done", answer.text


def _is_quiet(call: Client) -> bool:
    jobs = call("GET", "/v1/jobs", query={"user_id": "sarah", "limit": 100}).json["jobs"]
    return all(job["state"] == "done" for job in jobs)


def _stop_workers(stack: Stack) -> None:
    client = stack.place.client("lambda")
    for mapping in client.list_event_source_mappings()["EventSourceMappings"]:
        client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    time.sleep(2)  # what was received is done


def _items(stack: Stack) -> Iterator[dict[str, Any]]:
    """The tenant's items in every table, with the table's output as its name."""
    client = stack.place.client("dynamodb")
    for output in TABLES:
        pages = client.get_paginator("scan").paginate(TableName=stack.outputs[output])
        items = [item for page in pages for item in page["Items"]]
        for item in sorted(items, key=lambda item: (item["pk"]["S"], item["sk"]["S"])):
            if TENANT in item["pk"]["S"]:
                yield {"table": output, "item": _readable(item)}


def _readable(value: Any) -> Any:
    """The item as JSON. Binary values are written as base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _readable(element) for name, element in value.items()}
    return [_readable(element) for element in value] if isinstance(value, list) else value


def _objects(stack: Stack) -> Iterator[dict[str, str]]:
    client, bucket = stack.place.client("s3"), stack.outputs["ContentsBucket"]
    for listed in client.list_objects_v2(Bucket=bucket).get("Contents", ()):
        if TENANT in listed["Key"]:
            content = client.get_object(Bucket=bucket, Key=listed["Key"])["Body"].read()
            packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
            yield {"key": listed["Key"], "gzip": packed}


def keep(kept: dict[str, list[Any]], version: str) -> None:
    folder = RELEASES / version
    folder.mkdir(exist_ok=True)
    for name, values in kept.items():
        lines = [json.dumps(value, separators=(",", ":"), sort_keys=True) for value in values]
        (folder / name).write_text("\n".join(lines) + "\n")
        print(f"{folder / name}: {len(lines)} lines")


def templates() -> dict[str, Any]:
    """Return the stateful resources of each template that goes to AWS, by a name of it."""
    kept = {}
    for name, context in CONTEXTS.items():
        with tempfile.TemporaryDirectory() as folder:
            application(Path(folder), **IN_PLACE, **context).synth()
            (file,) = Path(folder).glob("*.template.json")
            kept[name] = stateful(json.loads(file.read_text()))
    return kept


def pack(archive: Path) -> None:
    """Keep the code with which this release reads."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for part in (CORE, *(Path("functions", name, "handler.py") for name in READERS)):
            packed.add(
                paths.PROJECT / part,
                str(part),
                filter=lambda entry: None if "__pycache__" in entry.name else entry,
            )


def main() -> None:
    version = release.version()
    stack = Stack(folder_of_its_own(), "")
    try:
        stack.start()
        keep(write(stack), version)
        text = json.dumps(templates(), separators=(",", ":"), sort_keys=True)
        (RELEASES / version / TEMPLATES).write_text(text + "\n")
        notes = release.notes(version, release.CHANGELOG.read_text())
        (RELEASES / version / NOTES).write_text(digest(notes) + "\n")
        pack(RELEASES / version / CODE)
    finally:
        stack.kill()


if __name__ == "__main__":
    main()
