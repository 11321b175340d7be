"""The edge of the function behind the embed queue: a batch at once, and which messages come again
when.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import Any

import pytest
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import Changed, MessageChanged, RecordChanged, Removed
from palimpsest.observability import logger
from palimpsest.workers.batches import LONGEST_BACKOFF, change_batch, pause, read_change

from tests.unit.api.gateway import LambdaContext
from tests.unit.api.handlers import ROOT

RECORD = RecordChanged("acme", "sarah", "mem_1")
MESSAGE = MessageChanged("acme", "onboarding-7", 12)
SECRET = "4111 1111 1111 1111"
HELD = 70  # seconds: what is left of the function's time, and ten


@dataclass
class Index:
    """What was asked to be indexed; it fails as told."""

    failing: Collection[Changed] = ()
    failure: Exception | None = None
    asked: list[Sequence[Changed]] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)
    held: tuple[str, ...] = ()

    def embed(self, changes: Sequence[Changed]) -> Collection[Changed]:
        assert self.held
        self.asked.append(changes)
        if self.failure is not None:
            raise self.failure
        return self.failing

    def hide(self, *receipt_handles: str, seconds: int) -> None:
        """A worker that begins holds its batch, and hides each message that failed."""
        if not self.held:
            self.held = receipt_handles
            assert seconds == HELD
        else:
            self.hidden |= dict.fromkeys(receipt_handles, seconds)

    def receive(self, *bodies: str, receives: int = 1) -> list[str]:
        """The messages that the queue is to keep, by their place in the batch."""
        records = [message(number, body, receives=receives) for number, body in enumerate(bodies)]
        context: Any = LambdaContext()
        answer = change_batch({"Records": records}, context, embed=self.embed, hide=self.hide)
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def message(number: int, body: str, *, receives: int) -> dict[str, Any]:
    sample: dict[str, Any] = json.loads((ROOT / "events/embed/changes.json").read_text())[
        "Records"
    ][0]
    attributes = {**sample["attributes"], "ApproximateReceiveCount": str(receives)}
    return {
        **sample,
        "messageId": f"m{number}",
        "receiptHandle": f"r{number}",
        "attributes": attributes,
        "body": body,
    }


def body_of(change: Changed) -> str:
    return json.dumps(asdict(change))


@pytest.mark.parametrize("change", [RECORD, MESSAGE, Removed("acme", "job_1")])
def test_a_change_is_read_as_it_was_sent(change: Changed) -> None:
    assert read_change(body_of(change)) == change


def test_a_batch_is_indexed_at_once() -> None:
    index = Index()
    assert index.receive(body_of(RECORD), body_of(MESSAGE)) == []
    assert (index.asked, index.hidden) == ([[RECORD, MESSAGE]], {})
    assert index.held == ("r0", "r1")


def test_only_what_failed_comes_again_after_a_pause() -> None:
    index = Index(failing=[MESSAGE])
    assert index.receive(body_of(RECORD), body_of(MESSAGE), receives=2) == ["m1"]
    assert set(index.hidden) == {"r1"}
    assert 5 <= index.hidden["r1"] <= 11


def test_a_change_that_two_messages_name_comes_again_with_both() -> None:
    assert Index(failing=[RECORD]).receive(body_of(RECORD), body_of(MESSAGE), body_of(RECORD)) == [
        "m0",
        "m2",
    ]


def test_where_nothing_can_be_indexed_everything_comes_again() -> None:
    index = Index(failure=Unavailable("There is no search index yet."))
    assert index.receive(body_of(RECORD), body_of(MESSAGE)) == ["m0", "m1"]
    assert min(index.hidden.values()) > 0


@pytest.mark.parametrize(
    "body",
    [
        "", "{", "[]", "7", "null", "{}",
        '{"tenant": "acme", "user": "sarah"}',
        '{"tenant": "acme", "session": "s", "seq": "twelve"}',
        '{"tenant": "acme", "session": "a#b", "seq": 1}',
        '{"tenant": "..", "user": "sarah", "record_id": "mem_1"}',
        '{"tenant": ["acme"], "user": "sarah", "record_id": "mem_1"}',
    ],
)  # fmt: skip
def test_a_message_that_names_nothing_goes_to_the_dead_letters_and_holds_nobody_up(
    body: str,
) -> None:
    index = Index()
    assert index.receive(body_of(RECORD), body or " ") == ["m1"]
    assert (index.asked, index.hidden) == ([[RECORD]], {"r1": 0})


def test_an_outage_of_hours_is_waited_out_with_growing_pauses() -> None:
    waits = [pause(receives) for receives in range(1, 481)]  # as often as the queue allows
    assert max(waits[:3]) <= 21
    assert max(waits) <= LONGEST_BACKOFF + 1
    assert sum(waits) > 5 * 3600


def test_logs_say_what_failed_and_never_what_it_was_about(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", kept)
    Index(failure=ValueError(SECRET)).receive(body_of(RECORD), SECRET)
    assert "ValueError" in kept.getvalue()
    assert SECRET not in kept.getvalue()


def test_a_change_with_a_field_that_is_not_known_is_none() -> None:
    with pytest.raises(ValueError, match="not a change"):
        read_change(json.dumps({**asdict(RECORD), "deleted": True}))
