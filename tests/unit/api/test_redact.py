"""A redacted message keeps its place, and its old text is nowhere once the receipt says so,
whatever was under way.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.ports import Summary, SummaryRequest
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.jobs.job import OVERDUE_SECONDS
from palimpsest.models.ports import Vector

from tests.doubles.extractor import stated
from tests.doubles.meanings import Meanings
from tests.doubles.summarizer import RecordingSummarizer
from tests.service import SARAH, TENANT
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client

SECRET = "xyzzyish"
PATH = "/v1/sessions/s/messages"
Redacting = Callable[[], Any]


class Quotes(RecordingSummarizer):
    """Writes the words of all messages, and what `meanwhile` does happens while it reads."""

    meanwhile: Redacting | None = None

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        summary = super().summarize(messages, wanted, previous=previous)
        said = " ".join(text_of(message.chat) for message in messages)
        _once(self)
        return replace(summary, text=f"{previous or ''} {said}")


def _once(doing: Any) -> None:
    meanwhile, doing.meanwhile = doing.meanwhile, None
    if meanwhile is not None:
        meanwhile()


@pytest.fixture
def service(tmp_path: Path) -> Service:
    made = Service(tmp_path)
    made.summarizer = Quotes()
    made.wire_workers()
    return made


def begun(call: Client, *texts: str, **memory: Any) -> None:
    config = {"max_tokens": 400, "keep_recent_turns": 1, "extract": "manual", **memory}
    call("POST", "/v1/sessions", {"session_id": "s", "user_id": "sarah", "memory": config})
    for text in texts:
        said = [{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}]
        assert call("POST", PATH, {"messages": said, "allow_repeat": True}).status == 201


def redact(call: Client, seq: int, content: str = "[redacted]", **more: Any) -> Answer:
    return call("PATCH", f"{PATH}/{seq}", {"content": content, **more})


def everything(call: Client, service: Service, folder: Path) -> Iterator[str]:
    """All that can be read of Sarah: through the API, in the tables, in the index."""
    for path in (
        PATH,
        "/v1/sessions/s/context",
        "/v1/sessions/s/compactions",
        "/v1/sessions/s",
        "/v1/users/sarah/memories",
    ):
        yield call("GET", path).text
    yield call("GET", "/v1/users/sarah/memories", query={"status": "superseded"}).text
    yield json.dumps([[record.content, record.source.quote] for record in service.records()])
    for record in service.records():
        if record.topic_key:
            yield repr(service.memories.versions(SARAH, record.topic_key))
    for tenant, session in service.sessions.state.partitions:
        found = service.sessions.state.partitions[tenant, session]
        yield repr(
            (
                found.head,
                found.settings,
                list(found.messages.between(0, 99)),
                list(found.compactions.between(0, 99)),
            )
        )
    yield repr(service.all_jobs())
    yield indexed(folder)


def indexed(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "index.sqlite")) as index:
        return "\n".join(index.iterdump())


def index_changes(service: Service) -> None:
    """What the streams carry, and what the workers sent, reaches the indexer."""
    assert service.embed((*service.shared.changes, *service.sent_again.changes)) == ()


def is_gone(call: Client, service: Service, folder: Path) -> bool:
    service.drain()
    index_changes(service)
    found = call(
        "POST", "/v1/users/sarah/memories/search", {"query": SECRET, "mode": "keyword"}
    ).json["memories"]
    return not found and not any(SECRET in text for text in everything(call, service, folder))


def test_a_redacted_message_keeps_its_place_and_says_so(call: Client, service: Service) -> None:
    begun(call, "Hello", f"My card is {SECRET}")
    before = call("GET", f"{PATH}/3").json
    answer = redact(call, 3, "My card is [redacted]", metadata={"by": "dpo"})
    assert (answer.status, answer.json["session_id"]) == (202, "s")
    row = call("GET", f"{PATH}/3").json
    assert {name: row[name] for name in ("id", "seq", "role", "content", "metadata")} == {
        "id": before["id"],
        "seq": 3,
        "role": "user",
        "content": "My card is [redacted]",
        "metadata": {"by": "dpo"},
    }
    assert row["redacted_at"]
    assert "redacted_at" not in before
    context = call("GET", "/v1/sessions/s/context").json
    assert [message["content"] for message in context["messages"]][2] == "My card is [redacted]"
    assert context["refs"][2] == {"seq": 3, "id": before["id"]}
    assert call("GET", "/v1/sessions/s").json["window"]["tokens"] == context["tokens"]["context"]
    service.drain()
    index_changes(service)
    job = call("GET", f"/v1/jobs/{answer.json['job_id']}").json
    assert (job["kind"], job["state"], job["receipt"]["memories"]) == (
        "redact",
        "done",
        {"state": "done", "count": 0},
    )
    assert [message["seq"] for message in call("GET", PATH).json["messages"]] == [1, 2, 3, 4]


def test_whatever_a_message_said_beside_its_text_goes_too(call: Client) -> None:
    tool = {
        "id": "a",
        "type": "function",
        "function": {"name": "pay", "arguments": json.dumps({"card": SECRET})},
    }
    said = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": SECRET}],
        "tool_calls": [tool],
        "x": SECRET,
    }
    item = {"role": "item", "item": {"type": "reasoning", "summary": SECRET}}
    system = {"role": "system", "content": SECRET}
    result = {"role": "tool", "tool_call_id": "a", "content": SECRET}
    messages = [system, {"role": "user", "content": "Pay."}, said, item, result]
    call("POST", PATH, {"user_id": "sarah", "messages": messages})
    for seq in (1, 3, 4, 5):
        assert redact(call, seq).status == 202
    assert SECRET not in call("GET", PATH).text
    context = call("GET", "/v1/sessions/s/context")
    assert SECRET not in context.text
    shown = context.json["messages"]
    assert [message["role"] for message in shown] == ["system", "user", "assistant", "tool"]
    assert shown[2]["tool_calls"][0]["function"] == {"name": "pay", "arguments": "{}"}
    assert SECRET not in call("GET", "/v1/sessions/s").text
    assert call("GET", f"{PATH}/4").json["item"] == {"type": "reasoning", "text": "[redacted]"}
    assert (
        call("GET", "/v1/sessions/s").json["window"]["tokens"] == context.json["tokens"]["context"]
    )


@pytest.mark.parametrize("seq", [0, 3, 99])
def test_a_message_that_is_not_there_can_not_be_redacted(
    call: Client, service: Service, seq: int
) -> None:
    begun(call, "Hello")
    assert redact(call, seq).status == (422 if seq == 0 else 404)
    assert redact(call, 1, " ").status == 422
    assert redact(service.client(tenant="other"), 1).status == 404
    assert redact(service.client(scopes="read"), 1).status == 403
    call("DELETE", PATH, query={"from": 2})
    assert redact(call, 2).status == 404
    assert not [job for job in service.all_jobs() if job.kind == "redact"]


def test_summaries_and_memories_of_the_old_text_are_taken_back_and_made_anew(
    call: Client, service: Service, tmp_path: Path
) -> None:
    begun(call, f"fact[card]: {SECRET}", "fact[home]: Rome", *("x" * 600 for _ in range(3)))
    call("POST", "/v1/sessions/s/extract", {})
    service.drain()
    service.brought_up_to_date()
    call(
        "POST",
        "/v1/sessions/s/messages",
        {"messages": [{"role": "user", "content": "fact[card]: none"}]},
    )
    call("POST", "/v1/sessions/s/extract", {})
    service.drain()
    assert SECRET in call("GET", "/v1/sessions/s/compactions").text
    assert SECRET in call("GET", "/v1/sessions/s/context").text
    answer = redact(call, 1)
    shown = call("GET", "/v1/sessions/s/context")
    assert SECRET not in shown.text
    assert is_gone(call, service, tmp_path)
    receipt = call("GET", f"/v1/jobs/{answer.json['job_id']}").json["receipt"]
    assert receipt["memories"] == {"state": "done", "count": 1}
    assert receipt["summaries"]["count"] >= 1
    assert service.contents() == ["Rome", "none"]
    again = call("GET", "/v1/sessions/s/context").json
    (summary,) = [
        message["content"]
        for message in again["messages"]
        if "CONVERSATION SUMMARY" in message["content"]
    ]
    assert "[redacted]" in summary  # it was made anew
    assert again["omitted"] is None


@pytest.mark.parametrize("when", ["summarised", "extracted", "embedded"])
def test_a_message_that_is_redacted_while_its_range_is_worked_on_leaves_no_trace(
    call: Client, service: Service, tmp_path: Path, when: str
) -> None:
    def meanwhile() -> None:
        assert redact(call, 1).status == 202
        service.handle(next(job for job in service.all_jobs() if job.kind == "redact"))

    if when == "summarised":
        assert isinstance(service.summarizer, Quotes)
        service.summarizer.meanwhile = meanwhile
    elif when == "extracted":
        service.extractor.finds = Finds(meanwhile)
    else:
        service.embedder = Slow(meanwhile)
    begun(call, f"fact[card]: {SECRET}", "Yes.", *("x" * 600 for _ in range(3)))
    if when == "embedded":
        service.brought_up_to_date()
    call("POST", "/v1/sessions/s/extract", {})
    assert is_gone(call, service, tmp_path)
    assert call("GET", f"{PATH}/1").json["content"] == "[redacted]"
    assert [job.state for job in service.all_jobs() if job.kind == "redact"] == ["done"]


class Finds:
    """What messages state; the first time something happens before it is stored."""

    def __init__(self, meanwhile: Redacting) -> None:
        self.meanwhile: Redacting | None = meanwhile

    def __call__(self, chunk: Chunk) -> list[Finding]:
        found = stated(chunk)
        _once(self)
        return found


class Slow(Meanings):
    """Something happens before the first vector is ready."""

    def __init__(self, meanwhile: Redacting) -> None:
        super().__init__()
        self.meanwhile: Redacting | None = meanwhile

    def embed(self, texts: Sequence[str], *, as_questions: bool = False) -> list[Vector]:
        vectors = super().embed(texts, as_questions=as_questions)
        _once(self)
        return vectors


def test_a_redaction_is_done_when_the_index_holds_nothing_of_what_it_removed(
    call: Client, service: Service, tmp_path: Path
) -> None:
    begun(call, f"fact[card]: {SECRET}", "Noted?")
    call("POST", "/v1/sessions/s/extract", {})
    service.drain()
    service.brought_up_to_date()
    job = redact(call, 1).json["job_id"]
    service.drain()
    shown = call("GET", f"/v1/jobs/{job}").json
    assert (shown["state"], shown["receipt"]["memories"]) == (
        "running",
        {"state": "done", "count": 1},
    )
    assert shown["receipt"]["index"] == {"state": "pending"}
    assert SECRET in indexed(tmp_path)
    told = tuple(service.sent_again.changes)  # whatever becomes of the stream's records
    service.index.down = True
    assert service.embed(told) == told
    assert service.job(job).state == "running"
    service.index.down = False
    assert service.embed(told) == service.embed(told) == ()
    shown = call("GET", f"/v1/jobs/{job}").json
    assert (shown["state"], shown["receipt"]["index"]) == ("done", {"state": "done"})
    assert SECRET not in indexed(tmp_path)


def test_a_redaction_whose_message_to_the_index_is_lost_is_begun_again(
    call: Client, service: Service, tmp_path: Path
) -> None:
    begun(call, f"fact[card]: {SECRET}")
    call("POST", "/v1/sessions/s/extract", {})
    service.drain()
    service.brought_up_to_date()
    job = redact(call, 1).json["job_id"]
    service.drain()
    service.sent_again.changes.clear()
    for seconds in (90, OVERDUE_SECONDS):
        service.time.advance(seconds)
        service.sweep_all()
    service.drain()
    assert service.embed(tuple(service.sent_again.changes)) == ()
    shown = call("GET", f"/v1/jobs/{job}").json
    assert (shown["state"], shown["result"]["memories"]) == ("done", 1)
    assert is_gone(call, service, tmp_path)


def test_a_redaction_that_is_repeated_and_a_memory_with_another_source(
    call: Client, service: Service
) -> None:
    begun(call, "fact: likes tea")
    call(
        "POST",
        "/v1/sessions/t/messages",
        {"user_id": "sarah", "messages": [{"role": "user", "content": "fact: likes tea"}]},
    )
    for name in ("s", "t"):
        call("POST", f"/v1/sessions/{name}/extract", {})
        service.drain()
    for _ in range(2):
        assert redact(call, 1).status == 202
    service.drain()
    (record,) = service.records()
    assert (record.content, record.source.session, record.source.quote) == ("likes tea", "t", None)
    assert len({job.id for job in service.all_jobs() if job.kind == "redact"}) == 2
    assert service.sessions.open(TENANT.session("s")).head is not None
