"""A conversation that nobody ends is extracted once no message came for ten minutes."""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.conversations.manage import SessionRequest

from tests.unit.conversations.service import ConversationService

IDLE = 600
DAY = 24 * 3600


def talking(**memory: Any) -> ConversationService:
    return ConversationService(long_term=True, **memory)


def extracted(service: ConversationService) -> list[tuple[int, int]]:
    """The first and last message of each extraction job."""
    return [(job.first, job.last) for job in service.outbox if job.kind == "extract"]


def visited_after(service: ConversationService, seconds: int) -> list[tuple[int, int]]:
    service.time.advance(seconds)
    service.sweep()
    service.drain()
    return extracted(service)


def visit_at(service: ConversationService) -> int | None:
    settings = service.sessions.open(service.session(), settings=True).settings
    assert settings is not None
    return settings.due_at


def test_an_idle_session_is_extracted_once() -> None:
    service = talking()
    service.say(1)
    assert visited_after(service, IDLE - 1) == []
    assert visited_after(service, 1) == [(1, 2)]
    assert visited_after(service, 10 * IDLE) == [(1, 2)]
    assert visit_at(service) == service.head().expires_at


def test_a_question_without_an_answer_is_extracted_too() -> None:
    service = talking()
    service.append("I live in Kiel.")
    assert visited_after(service, IDLE) == [(1, 1)]


def test_a_conversation_under_way_is_not_extracted_early() -> None:
    service = talking(max_buffer_turns=100)
    for _ in range(9):
        service.say(1)
        assert visited_after(service, IDLE // 2) == []
    assert visited_after(service, IDLE // 2) == [(1, 18)]


def test_what_is_said_after_a_pause_is_extracted_after_the_next_one() -> None:
    service = talking()
    service.say(1)
    visited_after(service, IDLE)
    service.say(1)
    assert visited_after(service, IDLE) == [(1, 2), (3, 4)]


def test_only_the_first_append_since_an_extraction_writes_the_visit() -> None:
    service = talking(max_buffer_turns=100)
    service.say(1)
    first = visit_at(service)
    service.time.advance(5)
    service.say(3)
    assert visit_at(service) == first


def test_an_extraction_by_turns_leaves_nothing_for_the_idle_session() -> None:
    service = talking(max_buffer_turns=1)
    service.say(1)
    assert extracted(service) == [(1, 2)]
    assert visited_after(service, IDLE) == [(1, 2)]


@pytest.mark.parametrize("memory", [{"extract_idle_seconds": 0}, {"extract": "manual"}])
def test_a_session_may_be_left_alone(memory: dict[str, Any]) -> None:
    service = talking(**memory)
    service.say(1)
    assert visited_after(service, 10 * IDLE) == []


def test_an_ended_or_deleted_session_is_not_extracted_again() -> None:
    service = talking()
    service.say(1)
    service.say(1, session="gone")
    service.app.manage.end(service.session())
    service.app.manage.delete(service.session("gone"))
    before = extracted(service)
    assert visited_after(service, IDLE) == before == [(1, 2)]


def test_an_idle_session_still_expires_after_its_last_message() -> None:
    service = talking()
    service.say(1)
    expires = service.head().expires_at
    visited_after(service, IDLE)
    assert service.head().expires_at == expires == visit_at(service)
    service.time.advance(30 * DAY)
    service.sweep()
    assert service.head().status == "deleted"


def test_a_changed_setting_applies_to_messages_that_wait_already() -> None:
    service = talking(extract_idle_seconds=0)
    service.say(1)
    wanted = SessionRequest(memory={"extract_idle_seconds": 60})
    service.app.manage.patch(service.session(), wanted=wanted)
    assert visited_after(service, 60) == [(1, 2)]


def test_a_sweep_that_is_killed_after_the_job_leaves_nothing_undone() -> None:
    service = talking()
    service.say(1)
    service.time.advance(IDLE)
    with service.killed_at("before reschedule"):
        service.sweep()
    service.sweep()
    assert extracted(service) == [(1, 2)]
    assert visit_at(service) == service.head().expires_at
