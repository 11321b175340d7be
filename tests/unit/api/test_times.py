"""Times through the front door: what is planned, what happened, what is due and what was due."""

from typing import Any

import pytest
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

USER = "/v1/users/sarah"
DAY = 24 * 3600


@pytest.fixture
def app(service: Service, call: Client) -> Client:
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.work_while_waiting()
    return call


def said(call: Client, *texts: str, session: str = "talk") -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    body = {"messages": messages, "session_id": session, "wait": 5}
    assert call("POST", f"{USER}/ingest", body).json["state"] == "done"


def memories(call: Client) -> dict[str, Any]:
    return {row["content"]: row for row in call("GET", f"{USER}/memories").json["memories"]}


def prompt(call: Client, text: str = "Hello") -> str:
    body = {"user_id": "sarah", "messages": [{"role": "user", "content": "Hi"}]}
    call("POST", "/v1/sessions/new/messages", body)
    asked = {"message": {"role": "user", "content": text}}
    return str(call("POST", "/v1/sessions/new/context", asked).json["memory_prompt"])


def test_a_plan_moves_no_topic_and_reads_as_planned_until_its_day(
    app: Client, service: Service
) -> None:
    said(app, "I live in Hamburg.", "I'm moving to Bremen on 1 October.")
    found = memories(app)
    assert found["I live in Hamburg."]["status"] == "current"
    plan = found["I'm moving to Bremen on 1 October."]
    assert (plan["type"], plan["occurs_at"], plan["topic_key"]) == ("event", "2026-10-01", None)
    assert "- Sarah: I'm moving to Bremen on 1 October. (planned for 2026-10-01)" in prompt(app)
    service.time.advance(300 * DAY)
    assert "(was planned for 2026-10-01)" in prompt(app)


def test_a_recall_says_when(app: Client, service: Service) -> None:
    said(app, "I moved to Bremen on 1 October.", "I must send the report by Friday.")
    service.brought_up_to_date()
    answer = app("POST", f"{USER}/recall", {"query": "move to Bremen", "format": "context"}).json
    row = next(row for row in answer["memories"] if row["type"] == "fact")
    assert (row["occurs_at"], row["when"]) == ("2025-10-01", "happened on 2025-10-01")
    assert "I moved to Bremen on 1 October. (happened on 2025-10-01)" in answer["context"]
    answer = app("POST", f"{USER}/recall", {"query": "report", "format": "context"}).json
    row = next(row for row in answer["memories"] if row["type"] == "task")
    assert (row["due_at"], row["when"]) == ("2026-01-02", "due on 2026-01-02")
    service.time.advance(3 * DAY)
    answer = app("POST", f"{USER}/recall", {"query": "report", "format": "context"}).json
    assert "- Sarah: I must send the report by Friday. (was due on 2026-01-02)" in answer["context"]


def test_a_line_has_one_date(app: Client) -> None:
    said(app, "Remind me to call mum tomorrow.")
    assert "- Remind me to call mum tomorrow. (due on 2026-01-02)" in prompt(app)


def test_what_was_due_long_ago_comes_last(app: Client, service: Service) -> None:
    said(app, "I must send the tax form by Friday.")
    service.time.advance(20 * DAY)
    app.save({"type": "fact", "content": "Likes tea.", "importance": 0.1})
    lines = [line for line in prompt(app, "tax form").splitlines() if line.startswith("- ")]
    assert lines == [
        "- Likes tea.",
        "- Sarah: I must send the tax form by Friday. (was due on 2026-01-02)",
    ]


def test_times_are_given_changed_and_taken_away(app: Client) -> None:
    given = {"type": "task", "content": "Call mum.", "due_at": "2026-02-01"}
    (row,) = app.save(given).json["memories"]
    assert (row["due_at"], row["occurs_at"]) == ("2026-02-01", None)
    path = f"{USER}/memories/{row['id']}"
    assert (
        app("PATCH", path, {"due_at": "2026-02-03T10:00:00Z"}).json["due_at"]
        == "2026-02-03T10:00:00Z"
    )
    assert app("PATCH", path, {"due_at": None}).json["due_at"] is None


@pytest.mark.parametrize("day", ["soon", "2026-02-30", "2026-2-1", "20260201", "", 5])
def test_what_is_no_day_is_refused(app: Client, day: object) -> None:
    given = {"type": "task", "content": "Call mum.", "due_at": day}
    assert app("POST", f"{USER}/memories", {"memories": [given]}).status == 422
