"""The edge of the functions behind stream and queues: which records failed, when they come again,
and who is told.
"""

import json
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest
from palimpsest.engines.dynamodb.streams import stream_record
from palimpsest.errors import DamagedJob, ModelUnavailable, NewerJob, Unavailable
from palimpsest.jobs import handling
from palimpsest.jobs.attempts import MAX_TRIES
from palimpsest.jobs.events import JobNotice
from palimpsest.observability import logger
from palimpsest.workers.batches import (
    LONGEST_BACKOFF,
    LONGEST_RETRY_AFTER,
    backoff,
    stream_batch,
    work_batch,
)
from palimpsest.workers.dispatch import Dispatch
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalUsages

from tests.doubles.queues import InMemoryQueues
from tests.unit.api.gateway import LambdaContext
from tests.unit.api.handlers import ROOT, load

NOTICE = JobNotice("acme", "job_4c2f", "summarize")
SECRET = "4111 1111 1111 1111"
HELD = 70  # seconds: what is left of the function's time, and ten


@dataclass
class Worker:
    """A worker whose step fails as told, and that notes what it was asked."""

    failure: Exception | None = None
    done: list[JobNotice] = field(default_factory=list)
    given_up: list[tuple[JobNotice, str]] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    cannot_hold: bool = False
    waiting: list[int] = field(default_factory=list)
    tries: int = 0
    was_given_up: bool = False
    left: list[JobNotice] = field(default_factory=list)
    cannot_wait: bool = False

    def step(self, notice: JobNotice) -> None:
        assert self.held or self.cannot_hold
        if self.failure is not None:
            raise self.failure
        self.done.append(notice)

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        self.given_up.append((notice, error))

    def hide(self, *receipt_handles: str, seconds: int) -> None:
        """A worker that begins holds its messages, and hides one that failed."""
        if seconds == HELD and self.cannot_hold:
            raise Unavailable("The queue did not answer.")
        (self.held if seconds == HELD else self.hidden).extend([seconds] * len(receipt_handles))

    def has_failed(self, notice: JobNotice) -> bool:
        return self.was_given_up

    def failed(self, notice: JobNotice) -> int:
        if self.cannot_wait:
            raise Unavailable("The store did not answer.")
        return self.tries

    def wait(self, notice: JobNotice, *, seconds: int) -> None:
        self.waiting.append(seconds)
        if self.cannot_wait:
            raise Unavailable("The store did not answer.")

    def leave(self, notice: JobNotice) -> None:
        self.left.append(notice)
        if self.cannot_wait:
            raise Unavailable("The store did not answer.")

    def receive(self, *records: dict[str, Any]) -> list[str]:
        """The messages that the queue is to keep."""
        worker = handling.Worker(self.step, self.give_up, self.hide, self, self.leave)
        answer = work_batch({"Records": list(records)}, LambdaContext(), worker=worker)  # type: ignore[arg-type]
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def message(number: int = 1, *, receives: int = 1, body: str | None = None) -> dict[str, Any]:
    sample: dict[str, Any] = json.loads((ROOT / "events/summarize/job.json").read_text())[
        "Records"
    ][0]
    notice = {"tenant": NOTICE.tenant, "job_id": NOTICE.job_id, "kind": NOTICE.kind}
    attributes = {**sample["attributes"], "ApproximateReceiveCount": str(receives)}
    return {
        **sample,
        "messageId": f"m{number}",
        "attributes": attributes,
        "body": body or json.dumps(notice),
    }


def change(number: int, *, kind: str = "summarize") -> dict[str, Any]:
    """A stream record that inserts a job."""
    sample: dict[str, Any] = json.loads((ROOT / "events/dispatch/jobs.json").read_text())[
        "Records"
    ][0]
    image = sample["dynamodb"]["NewImage"]
    image["pk"]["S"] = sample["dynamodb"]["Keys"]["pk"]["S"] = f"acme#job#job_{number}"
    image["kind"]["S"] = kind
    sample["dynamodb"]["SequenceNumber"] = str(number)
    return sample


def streamed(*records: dict[str, Any], queues: InMemoryQueues) -> list[str]:
    """The sequence numbers from which the stream goes on."""
    handle = Dispatch(queues, stream_record, queues, LocalUsages(State()))
    answer = stream_batch({"Records": list(records)}, LambdaContext(), handle=handle)  # type: ignore[arg-type]
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    kept = StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", kept)
    return kept


def test_one_bad_record_of_ten_is_parked_and_the_other_nine_go_on() -> None:
    queues = InMemoryQueues()
    records = [
        change(number, kind="rm -rf" if number == 4 else "summarize") for number in range(10)
    ]
    assert streamed(*records, queues=queues) == []
    assert [notice.job_id for notice in queues.sent] == [
        f"job_{number}" for number in range(10) if number != 4
    ]
    [parked] = queues.parked
    assert json.loads(parked)["keys"]["pk"] == {"S": "acme#job#job_4"}


@pytest.mark.parametrize(
    "image",
    [
        {},
        {"pk": {"S": "acme"}},
        {"pk": {"S": "acme#s"}, "kind": {"S": "summarize"}},
        {"pk": {"S": "a#b#c#d"}, "kind": {"S": "summarize"}},
        {"pk": {"S": "acme#job#.."}, "kind": {"S": "summarize"}},
        {"pk": {"N": "1"}, "kind": {"S": "summarize"}},
        {"pk": {"S": "acme#job#job_1"}, "kind": {"S": ["summarize"]}},
        {"pk": "acme#job#job_1", "kind": {"S": "summarize"}},
    ],
)
def test_a_record_that_makes_no_sense_is_parked_by_its_keys_alone(image: dict[str, Any]) -> None:
    queues = InMemoryQueues()
    record = change(1)
    record["dynamodb"]["NewImage"] = {**image, "text": {"S": SECRET}}
    assert streamed(record, queues=queues) == []
    assert queues.sent == []
    assert json.loads(queues.parked[0]) == {
        "event_id": record["eventID"],
        "keys": record["dynamodb"]["Keys"],
    }


def test_a_record_without_anything_is_parked_too() -> None:
    queues = InMemoryQueues()
    assert streamed({"eventID": "1", "eventName": "INSERT", "dynamodb": {}}, queues=queues) == []
    assert len(queues.parked) == 1


def test_a_stream_whose_queues_are_down_comes_again_from_where_it_stopped() -> None:
    queues = InMemoryQueues()
    queues.is_down = True
    assert streamed(change(7), change(8), queues=queues)[0] == "7"
    queues.is_down = False
    assert streamed(change(7), change(8), queues=queues) == []
    assert [notice.job_id for notice in queues.sent] == ["job_7", "job_8"]


def test_a_step_that_is_done_leaves_nothing_to_do() -> None:
    worker = Worker()
    assert worker.receive(message()) == []
    assert (worker.done, worker.hidden, worker.given_up, worker.left) == (
        [NOTICE],
        [],
        [],
        [NOTICE],
    )


def test_a_worker_that_begins_hides_its_messages_until_it_must_have_ended() -> None:
    """If its process is killed, they come back then, and not after six times as long."""
    worker = Worker()
    worker.receive(message(1), message(2))
    assert worker.held == [HELD, HELD]


def test_a_queue_that_does_not_answer_keeps_no_worker_from_its_step() -> None:
    worker = Worker(cannot_hold=True)
    assert worker.receive(message()) == []
    assert worker.done == [NOTICE]


def test_a_step_is_done_although_its_place_in_the_queue_can_not_be_left() -> None:
    worker = Worker(cannot_wait=True)
    assert worker.receive(message()) == []
    assert worker.done == [NOTICE]


def test_only_the_message_that_failed_comes_again() -> None:
    worker = Worker()
    bad = message(4, body="no notice")
    assert worker.receive(*(bad if number == 4 else message(number) for number in range(10))) == [
        "m4"
    ]
    assert len(worker.done) == 9


def test_a_failed_step_waits_as_long_as_the_provider_asked() -> None:
    worker = Worker(ModelUnavailable("busy", retry_after=37.0))
    assert worker.receive(message()) == ["m1"]
    assert worker.hidden == [37]
    assert worker.waiting == [37]  # so that the sweep does not begin the job before


def test_a_store_that_does_not_answer_keeps_no_message_from_waiting() -> None:
    worker = Worker(Unavailable("later"), cannot_wait=True)
    assert worker.receive(message(1), message(2)) == ["m1", "m2"]
    assert len(worker.hidden) == 2


@pytest.mark.parametrize(
    ("asked", "waits"), [(0.0, 1), (0.2, 1), (-5.0, 1), (86_400.0, LONGEST_RETRY_AFTER)]
)
def test_no_provider_can_ask_for_a_hot_loop_or_for_ever(asked: float, waits: int) -> None:
    assert backoff(ModelUnavailable("busy", retry_after=asked), tries=1) == waits


def test_without_a_word_from_the_provider_the_wait_doubles_with_jitter() -> None:
    for tries, longest in ((1, 5), (2, 10), (3, 20), (20, LONGEST_BACKOFF)):
        waits = {backoff(Unavailable("later"), tries=tries) for _ in range(200)}
        assert len(waits) > 1
        assert longest / 2 <= min(waits)
        assert max(waits) <= longest + 1


@pytest.mark.parametrize("tries", range(1, MAX_TRIES + 1))
@pytest.mark.parametrize("receives", [1, MAX_TRIES + 3])
def test_a_job_fails_with_its_last_try_however_often_its_message_was_received(
    tries: int, receives: int
) -> None:
    worker = Worker(ModelUnavailable("busy"), tries=tries - 1)
    assert worker.receive(message(receives=receives)) == ["m1"]
    assert worker.given_up == ([(NOTICE, "model_unavailable")] if tries == MAX_TRIES else [])
    assert (worker.hidden == [0]) is (tries == MAX_TRIES)
    assert worker.left == ([NOTICE] if tries == MAX_TRIES else [])  # until then it keeps its place


def test_the_message_of_a_failed_job_comes_back_until_it_is_a_dead_letter() -> None:
    worker = Worker(was_given_up=True)
    assert worker.receive(message(receives=2)) == ["m1"]
    assert (worker.hidden, worker.done) == ([0], [])


def test_the_message_of_a_failed_job_that_an_operator_sends_again_is_worked_on() -> None:
    worker = Worker(was_given_up=True)
    assert worker.receive(message(receives=1)) == []
    assert worker.done == [NOTICE]


KNOWN = {"tenant": "acme", "job_id": "job_1", "kind": "summarize"}
NEWER = {**KNOWN, "kind": "transcribe"}


@pytest.mark.parametrize("named", [NEWER, KNOWN], ids=["another kind", "another field"])
@pytest.mark.parametrize("receives", [1, 7])
def test_a_job_that_only_a_newer_release_can_do_is_left_to_it(
    named: dict[str, str], receives: int
) -> None:
    worker = Worker(NewerJob("unknown"))
    assert worker.receive(message(body=json.dumps(named), receives=receives)) == []
    assert (worker.given_up, worker.hidden, worker.left) == ([], [], [])


UNKNOWN = '{"tenant": "acme", "job_id": "job_1", "kind": "summarize", "priority": 3}'


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "null", '"x"', "{}", '{"kind": "summarize"}', '{"kind": "rm -rf"}', UNKNOWN],
)
def test_a_message_that_names_no_job_goes_to_the_dead_letters_without_waiting(body: str) -> None:
    worker = Worker()
    assert worker.receive(message(body=body or " ")) == ["m1"]
    assert (worker.hidden, worker.done, worker.given_up) == ([0], [], [])


def test_logs_name_jobs_and_failures_and_never_what_they_were_about(log: StringIO) -> None:
    worker = Worker(ValueError(SECRET))
    worker.receive(message(), message(2, body=SECRET))
    streamed(change(1), {**change(2), "text": SECRET}, queues=InMemoryQueues())
    assert NOTICE.job_id in log.getvalue()
    assert "ValueError" in log.getvalue()
    assert SECRET not in log.getvalue()


@pytest.mark.parametrize("function", ["summarize", "sweep"])
def test_a_function_that_is_told_too_little_fails_its_batch_and_says_what_is_missing(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SESSIONS_TABLE", raising=False)
    with pytest.raises(RuntimeError, match="SESSIONS_TABLE"):
        load(function).handler({"Records": [message()]}, LambdaContext())


def test_a_batch_without_records_has_no_failures() -> None:
    assert Worker().receive() == []


def test_a_job_that_cannot_be_read_fails_at_once_and_its_message_goes_to_the_dead_letters() -> None:
    worker = Worker(DamagedJob("unreadable"))
    assert worker.receive(message(receives=1)) == ["m1"]
    assert (worker.given_up, worker.hidden) == ([(NOTICE, "damaged_job")], [0])
