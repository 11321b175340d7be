"""Extraction by a session's own rule: armed within appends, one job at a time, whatever the model
does.
"""

from __future__ import annotations

from palimpsest.errors import ModelOutputInvalid, ModelUnavailable
from palimpsest.jobs.attempts import FIRST_ATTEMPTS
from palimpsest.jobs.events import JobNotice

from tests.unit.extraction.service import ExtractionService


def service_of(turns: int = 2) -> ExtractionService:
    """A session that is extracted after so many turns."""
    return ExtractionService(extract="auto", max_buffer_turns=turns)


def turn(service: ExtractionService, number: int) -> None:
    service.put(
        {"role": "user", "content": f"fact: number {number}"},
        {"role": "assistant", "content": "ok"},
    )


def test_after_every_few_turns_an_append_arms_a_job_in_its_own_transaction() -> None:
    service = service_of(2)
    commits = []
    commit = service.sessions.commit

    def counted(scope: object, change: object) -> None:
        commits.append(len(change.jobs))  # type: ignore[attr-defined]
        commit(scope, change)  # type: ignore[arg-type]

    service.sessions.commit = counted  # type: ignore[method-assign, assignment]
    for number in range(6):
        turn(service, number)
        service.drain()
    assert commits == [0, 1, 0, 1, 0, 1]
    assert [(job.first, job.last) for job in service.outbox] == [(1, 4), (5, 8), (9, 12)]
    assert len(service.contents()) == 6


def test_a_turn_counts_when_it_is_whole() -> None:
    service = service_of(1)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    for chat in (
        {"role": "user", "content": "fact: one"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ):
        assert service.outbox == []
        service.put(chat)
    assert [(job.first, job.last) for job in service.outbox] == [(1, 3)]


def test_users_who_get_no_answer_are_extracted_all_the_same() -> None:
    service = service_of(2)
    service.say("fact: one")
    service.say("fact: two")
    assert service.outbox == []
    service.say("fact: three")
    assert len(service.outbox) == 1


def test_while_a_job_is_under_way_no_other_is_armed_and_its_end_arms_the_next() -> None:
    service = service_of(2)
    for number in range(9):
        turn(service, number)
    assert [(job.first, job.last) for job in service.outbox] == [(1, 4)]
    service.drain()
    assert [(job.first, job.last) for job in service.outbox] == [(1, 4), (5, 18)]
    assert len(service.contents()) == 9


def test_a_model_that_is_down_is_asked_by_one_job_at_a_time() -> None:
    """An hour of appends, and a job for each attempt: not one for each append."""
    service = service_of(1)
    service.extractor.failure = ModelUnavailable("down")
    for number in range(900):
        turn(service, number)
        service.time.advance(4)
        service.drain()
        service.sweep()
    attempts = FIRST_ATTEMPTS + 8  # a minute apart, then five
    assert len(service.outbox) == attempts
    assert len(service.extractor.read) == 4 * attempts
    service.extractor.failure = None
    for _ in range(2):
        service.time.advance(3_700)
        service.sweep()
        service.drain()
    assert len(service.contents()) == 900


def test_a_poison_message_does_not_keep_what_is_said_later_from_being_extracted() -> None:
    service = service_of(1)
    service.extractor.failure = ModelOutputInvalid("prose")
    turn(service, 0)
    service.drain()
    service.extractor.failure = None
    turn(service, 1)
    service.drain()
    assert service.contents() == ["number 1"]


def test_a_crash_before_the_next_is_armed_is_mended_by_the_next_delivery() -> None:
    service = service_of(1)
    for number in range(3):
        turn(service, number)
    (job,) = service.outbox
    crashes = iter([RuntimeError("killed")])

    def crash(step: str) -> None:
        if step == "before commit":
            for error in crashes:
                raise error

    service.sessions.state.faults = crash
    try:
        service.handle(job)
    except RuntimeError:
        service.handle(job)
    service.delivered = 1
    service.drain()
    assert len(service.contents()) == 3


def test_a_session_that_asks_for_nothing_reads_nothing_and_arms_nothing() -> None:
    service = ExtractionService(extract="auto")
    head = service.put(
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}
    ).head
    assert (head.armed_seq, head.extract_job, service.outbox) == (0, None, [])


def test_after_a_failure_the_rest_waits_until_the_model_is_up_again() -> None:
    service = service_of(1)
    turn(service, 0)
    (job,) = service.outbox
    service.give_up(JobNotice(job.tenant, job.id, job.kind), error="model_unavailable")
    turn(service, 1)
    assert len(service.outbox) == 1
    service.time.advance(61)
    service.sweep()
    service.delivered = 1
    service.drain()
    assert service.contents() == ["number 0", "number 1"]
