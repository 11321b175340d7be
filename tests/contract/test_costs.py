"""What a turn costs in requests and DynamoDB's units, from the event to the answer, however long
the session is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from palimpsest.api.app import HttpApp
from palimpsest.api.operations import operations_of
from palimpsest.clock import FakeClock
from palimpsest.conversations.weight import weigh
from palimpsest.engines.dynamodb.jobs import DynamoDbJobs, DynamoDbKeyedCalls
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.table import connected
from palimpsest.engines.dynamodb.tenants import DynamoDbTenants
from palimpsest.engines.dynamodb.usages import DynamoDbUsages
from palimpsest.jobs.events import JobNotice
from palimpsest.models.tiktoken_counter import DEFAULT_ENCODING, TiktokenCounter
from palimpsest.offline.summarizer import ExtractiveSummarizer
from palimpsest.search.absent import AbsentIndex
from palimpsest.service.parts import Models, Stores
from palimpsest.service.service import Service as UseCases
from palimpsest.wiring.stores import graph_engine
from palimpsest.wiring.workers import wire_summarize
from palimpsest_local.stores.memories import LocalMemories
from palimpsest_local.stores.tenants import LocalStaticFacts
from palimpsest_local.stores.vectors import LocalBlobs, LocalVectors

from benchmarks.conversation import WINDOW, batches, said
from benchmarks.meter import Meter, Reading, item_bytes, metered
from tests.contract.tables import memories_table, sessions_table, tenants_table
from tests.unit.api.gateway import Answer, Client

SHORT, LONG = 100, 5_000
KILOBYTE = "x" * 700  # with what is kept beside it: nearly all that one write unit takes
TOKENS = TiktokenCounter()
WEIGHT = weigh(
    {"role": "user", "content": said(0)[1]}, partial(TOKENS.count, encoding=DEFAULT_ENCODING)
)


@dataclass(frozen=True, slots=True)
class Filled:
    """A session with 20 messages in its window, and what their context took."""

    session: str
    context: Reading


class Service:
    """The sessions function on an engine of the tests."""

    def __init__(self, endpoint: str) -> None:
        self.table, memories = sessions_table(endpoint), memories_table(endpoint)
        self.client: Any = connected(None, endpoint)
        sessions = DynamoDbSessions(self.table, memories=memories, endpoint=endpoint)
        jobs = DynamoDbJobs(self.table, endpoint=endpoint)
        tenants = DynamoDbTenants(tenants_table(endpoint), endpoint=endpoint)
        self.memories = DynamoDbMemories(memories, self.table, endpoint=endpoint)
        clock, summarizer = FakeClock(), ExtractiveSummarizer(TOKENS)
        calls = DynamoDbKeyedCalls(self.table, endpoint=endpoint)
        usages = DynamoDbUsages(self.table, endpoint=endpoint)
        self._sessions = sessions
        self._stores = Stores(
            sessions=sessions,
            jobs=jobs,
            calls=calls,
            tenants=tenants,
            blobs=LocalBlobs(),
            usages=usages,
            memories=self.memories,
            facts=LocalStaticFacts(),
            index=AbsentIndex,
            vectors=lambda: LocalVectors(LocalMemories()),
            graphs=graph_engine,
        )
        self.call = self.anew()
        self.summarize = wire_summarize(
            sessions=sessions, jobs=jobs, summarizer=summarizer, tokens=TOKENS, clock=clock
        ).step

    def anew(self) -> Client:
        """The function in a fresh process, which does not know whose a session is."""
        stores = replace(self._stores, sessions=self._sessions)
        service = UseCases(stores, Models(), TOKENS, FakeClock())
        return Client(HttpApp(lambda: service, operations_of("sessions")))

    def begin(self, session: str, **memory: Any) -> None:
        answer = self.call(
            "POST", "/v1/sessions", {"session_id": session, "user_id": "sarah", "memory": memory}
        )
        assert answer.status == 201

    def append(
        self,
        session: str,
        messages: Sequence[tuple[str, str]],
        *,
        user: str | None = None,
        said_at: str | None = None,
        **headers: str,
    ) -> Any:
        at = {} if said_at is None else {"timestamp": said_at}
        body: dict[str, Any] = {
            "messages": [{"role": role, "content": text, **at} for role, text in messages]
        }
        body |= {"allow_repeat": True} if user is None else {"allow_repeat": True, "user_id": user}
        answer: Answer = self.call(
            "POST", f"/v1/sessions/{session}/messages", body, headers=headers
        )
        assert answer.status == 201, answer.text
        return answer.json

    def context(self, session: str) -> Any:
        answer: Answer = self.call("GET", f"/v1/sessions/{session}/context")
        assert answer.status == 200, answer.text
        return answer.json

    def filled(self, size: int) -> Filled:
        """Of so many messages. From then on the window has room for what the tests append."""
        session = f"of-{size}"
        self.begin(
            session,
            extract="manual",
            strategy="trim",
            max_tokens=50 * WEIGHT,
            max_memory_tokens=WINDOW * WEIGHT,
            blocks=[],
        )
        for batch in batches(size):
            self.append(session, batch)
        with metered(self.client) as meter:
            assert len(self.context(session)["messages"]) == WINDOW
            return Filled(session, meter.read())

    def bytes_of(self, session: str, kind: str, *, newest: int) -> int:
        found = self.client.query(
            TableName=self.table, Limit=newest, ScanIndexForward=False,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :kind)",
            ExpressionAttributeValues={":pk": {"S": f"acme#{session}"}, ":kind": {"S": kind}},
        )  # fmt: skip
        return sum(map(item_bytes, found["Items"]))


@pytest.fixture(scope="module")
def service(dynoxide_endpoint: str) -> Service:
    return Service(dynoxide_endpoint)


@pytest.fixture(scope="module")
def short(service: Service) -> Filled:
    return service.filled(SHORT)


@pytest.fixture(scope="module")
def long(service: Service) -> Filled:
    return service.filled(LONG)


@pytest.fixture
def meter(service: Service, short: Filled, long: Filled) -> Iterator[Meter]:
    """Counts from here on; the sessions are there before."""
    with metered(service.client) as meter:
        yield meter


def of_append(service: Service, meter: Meter, filled: Filled, **headers: str) -> Reading:
    service.append(filled.session, [("user", KILOBYTE)], **headers)
    return meter.read()


def of_context(service: Service, meter: Meter, session: str) -> Reading:
    service.context(session)
    return meter.read()


def test_an_append_is_two_requests_and_writes_four_units(
    service: Service, meter: Meter, short: Filled
) -> None:
    reading = of_append(service, meter, short)
    assert reading.operations == ("BatchGetItem", "TransactWriteItems")
    assert (reading.requests, reading.write_units, reading.read_units) == (2, 4, 2)


def test_a_fresh_process_reads_the_log_key_and_once_more_unless_it_is_told_whose_the_session_is(
    service: Service, meter: Meter, short: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "call", service.anew())
    service.append(short.session, [("user", KILOBYTE)], user="sarah")
    beside = ("GetItem", "GetItem")  # the tenant's limits, once a minute, and its log key
    assert meter.read().operations == (*beside, "BatchGetItem", "TransactWriteItems")
    monkeypatch.setattr(service, "call", service.anew())
    for reads in ([*beside, "GetItem", "GetItem"], ["BatchGetItem"]):
        service.append(short.session, [("user", KILOBYTE)])
        assert meter.read().operations == (*reads, "TransactWriteItems")


def test_the_next_extraction_costs_one_request_more_only_when_it_is_due(
    service: Service, meter: Meter
) -> None:
    service.begin("extracted", max_buffer_turns=2)
    for number in range(4):
        service.append("extracted", [said(number)])
    requests = []
    meter.read()
    for number in range(12):
        service.append("extracted", [said(number)])
        requests.append(meter.read().requests)
    assert requests == [2, 2, 2, 3] * 3


def test_an_append_reads_what_was_deleted_only_if_a_timestamp_is_old(
    service: Service, meter: Meter, short: Filled
) -> None:
    usual = ("BatchGetItem", "TransactWriteItems")
    for said_at, asked in {
        "2026-01-01T00:00:00Z": (),
        "2025-12-31T23:59:30Z": (),
        "2025-12-31T23:00:00Z": ("BatchGetItem", "GetItem", "Query"),  # whose it is first
    }.items():
        service.append(short.session, [("user", KILOBYTE)], said_at=said_at)
        reading = meter.read()
        assert reading.operations == (*asked, *usual), said_at
        assert reading.write_units == 4


def test_a_key_adds_two_units_and_no_request(service: Service, meter: Meter, short: Filled) -> None:
    reading = of_append(service, meter, short, **{"idempotency-key": "turn-1"})
    assert (reading.requests, reading.write_units, reading.read_units) == (2, 6, 3)


def test_a_replayed_append_writes_nothing(service: Service, meter: Meter, short: Filled) -> None:
    of_append(service, meter, short, **{"idempotency-key": "turn-2"})
    reading = of_append(service, meter, short, **{"idempotency-key": "turn-2"})
    assert (reading.requests, reading.write_units) == (2, 0)


@pytest.mark.parametrize("key", ["", "turn-3"])
def test_an_append_to_a_long_session_costs_what_it_costs_in_a_short_one(
    service: Service, meter: Meter, short: Filled, long: Filled, key: str
) -> None:
    headers = {"idempotency-key": key} if key else {}
    assert of_append(service, meter, long, **headers) == of_append(service, meter, short, **headers)


def test_a_context_of_twenty_messages_stays_within_its_read_units(
    service: Service, meter: Meter
) -> None:
    session = "twenty"
    service.begin(session, blocks=[])
    service.append(session, [said(number) for number in range(WINDOW)])
    meter.read()
    reading = of_context(service, meter, session)
    there = service.bytes_of(session, "m#", newest=WINDOW) + service.bytes_of(
        session, "settings", newest=1
    )
    assert reading.read_units <= 5 + there / 4096
    assert (reading.requests, reading.write_units) == (2, 0)


def test_memory_of_which_there_is_none_costs_a_context_nothing(
    service: Service, meter: Meter
) -> None:
    readings = []
    settings: dict[str, dict[str, Any]] = {"with": {}, "without": {"blocks": []}}
    for session, memory in settings.items():
        service.begin(session, **memory)
        service.append(session, [said(number) for number in range(WINDOW)])
        meter.read()
        readings.append(of_context(service, meter, session))
    with_memory, without = readings
    assert with_memory == without


def test_a_context_of_a_long_session_costs_what_it_costs_in_a_short_one(
    short: Filled, long: Filled
) -> None:
    assert long.context == short.context
    assert long.context.read_units > 0


def test_a_context_with_a_summary_is_three_requests_within_its_read_units(
    service: Service, meter: Meter
) -> None:
    session = "summarized"
    service.begin(session, strategy="summarize", max_tokens=2_500, blocks=[])
    overflow = service.append(session, [said(number) for number in range(40)])["overflow"]
    service.summarize(JobNotice("acme", overflow["job_id"], "summarize"))
    assert service.context(session)["tokens"]["summary"] > 0
    meter.read()
    reading = of_context(service, meter, session)
    kept = len(service.context(session)["messages"]) - 1
    there = service.bytes_of(session, "m#", newest=kept) + service.bytes_of(
        session, "settings", newest=1
    )
    assert reading.read_units <= 5 + (there + service.bytes_of(session, "c#", newest=1)) / 4096
    assert reading.requests == 3
