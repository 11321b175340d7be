"""What a call costs, in DynamoDB's units, as the engine counts them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from palimpsest.conversations.session import Head
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.scope import Scope

from tests.contract.builders import NOW, Conversation, job, key, message
from tests.contract.tables import sessions_table

INDEX = 1.0
"""What the list of due work costs more, whenever a deadline is set."""

MANY = 12_345_679
LARGEST = Head(
    user="u" * 128,
    agent="a" * 128,
    version=MANY,
    status="active",
    base=MANY,
    seq=MANY,
    last_id="f" * 32,
    turn=MANY,
    last_user_seq=MANY,
    window_start=MANY,
    window_tokens=1_234_567,
    window_messages=12_345,
    system_tokens=12_345,
    summary=MANY,
    summary_tokens=3_999,
    encoding="p50k_base",
    max_tokens=1_047_576,
    trigger=838_061,
    raised=104_757,
    job="job_" + "f" * 32,
    compaction="pending",
    attempts=11,
    not_before=NOW,
    total_messages=MANY,
    total_tokens=1_234_567_891,
    batch="f" * 32,
    batch_first=MANY,
    updated_at=NOW * 1000,
    retention=2_592_000,
    expires_at=NOW,
)
EVER_USED: dict[str, Any] = {
    "off_record": 2,
    "epoch": 12,
    "armed_seq": MANY,
    "extract_job": "job_" + "f" * 32,
    "extract_turn": MANY,
    "redactions": 12_345,
    "day": "2026-11-23",
    "day_messages": 12_345,
    "day_tokens": 12_345_678,
    "day_bytes": 1_234_567_890,
    "extract_turns": 100,
    "extract_idle": 600,
    "frozen_at": NOW * 1000,
}
"""Fields of a session whose memories are extracted and whose context begins as before."""


@dataclass
class Meter:
    """Adds up what was consumed since it was last read."""

    calls: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, operation: str, consumed: Any) -> None:
        parts = consumed if isinstance(consumed, list) else [consumed]
        self.calls.append((operation, sum(part["CapacityUnits"] for part in parts)))

    def read(self) -> list[tuple[str, float]]:
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def talk(dynoxide_endpoint: str, meter: Meter) -> Conversation:
    """A session whose head holds what a head usually holds."""
    store = DynamoDbSessions(
        sessions_table(dynoxide_endpoint), endpoint=dynoxide_endpoint, meter=meter
    )
    talk = Conversation(store, Scope("acme").session("3b241101-e2bb-4255-8caf-4136c566a962"))
    talk.begin()
    talk.commit(
        replace(
            talk.known,
            version=2,
            max_tokens=100_000,
            trigger=80_000,
            batch="b" * 32,
            expires_at=NOW,
            retention=60,
            summary=0,
            summary_tokens=400,
            job="job_" + "f" * 32,
            compaction="pending",
        )
    )
    meter.read()
    return talk


def test_an_append_costs_four_units_and_six_with_a_key(talk: Conversation, meter: Meter) -> None:
    talk.append("x" * 700)
    talk.append("x" * 700, key=key("k" * 36, 2))
    talk.append("x" * 700, key=key("l" * 36, 3), jobs=(job(talk.scope),))
    assert meter.read() == [
        ("TransactWriteItems", 4.0),
        ("TransactWriteItems", 6.0),
        ("TransactWriteItems", 8.0 + INDEX),
    ]


def test_an_append_costs_the_same_however_long_the_session(
    talk: Conversation, meter: Meter
) -> None:
    for _ in range(200):
        talk.append("x" * 300)
    assert set(meter.read()) == {("TransactWriteItems", 4.0)}


def test_a_batch_costs_two_units_a_message_and_two_for_the_head(
    talk: Conversation, meter: Meter
) -> None:
    head = talk.known
    batch = tuple(message(seq, "x" * 700) for seq in range(1, 51))
    talk.commit(replace(head, version=head.version + 1, seq=50), messages=batch)
    assert meter.read() == [("TransactWriteItems", 102.0)]


def test_opening_costs_a_unit_for_each_part_in_one_call(talk: Conversation, meter: Meter) -> None:
    talk.append(key=key("k", 1))
    meter.read()
    talk.sessions.open(talk.scope)
    talk.sessions.open(talk.scope, settings=True)
    talk.sessions.open(talk.scope, settings=True, key="k")
    assert meter.read() == [("GetItem", 1.0), ("BatchGetItem", 2.0), ("BatchGetItem", 3.0)]


def test_reading_twenty_messages_is_one_call_and_costs_what_they_weigh(
    talk: Conversation, meter: Meter
) -> None:
    for _ in range(30):
        talk.append("x" * 200)
    meter.read()
    found = list(talk.sessions.messages(talk.scope, first=11, last=30, newest_first=True, page=20))
    ((operation, units),) = meter.read()
    stored = sum(len(str(item.chat["content"])) + 250 for item in found)
    assert (operation, len(found)) == ("Query", 20)
    assert units <= 1 + stored / 4096


def test_a_caller_that_stops_early_pays_for_no_further_page(
    talk: Conversation, meter: Meter
) -> None:
    for _ in range(12):
        talk.append()
    meter.read()
    next(talk.sessions.messages(talk.scope, first=1, last=12, newest_first=True, page=4))
    assert [operation for operation, _ in meter.read()] == ["Query"]


@pytest.mark.parametrize(("calls", "units"), [(0, 2.0), (6, 2.0), (128, 4.0)])
def test_the_largest_head_fits_a_kilobyte_unless_many_calls_are_open(
    dynoxide_endpoint: str, meter: Meter, calls: int, units: float
) -> None:
    store = DynamoDbSessions(
        sessions_table(dynoxide_endpoint), endpoint=dynoxide_endpoint, meter=meter
    )
    largest = replace(LARGEST, open_calls=b"abcd" * calls)
    Conversation(store, Scope("t" * 128).session("s" * 128)).commit(largest)
    assert meter.read() == [("TransactWriteItems", units)]


def test_a_head_of_every_use_fits_a_kilobyte_with_ids_of_64_characters(
    dynoxide_endpoint: str, meter: Meter
) -> None:
    store = DynamoDbSessions(
        sessions_table(dynoxide_endpoint), endpoint=dynoxide_endpoint, meter=meter
    )
    head = replace(LARGEST, user="u" * 64, agent="a" * 64, **EVER_USED)
    Conversation(store, Scope("t" * 64).session("s" * 64)).commit(head)
    assert meter.read() == [("TransactWriteItems", 2.0)]
