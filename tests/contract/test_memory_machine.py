"""The machine of conversations and memory over DynamoDB's adapters: what works is told by the
tables' own streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from palimpsest.engines import places
from palimpsest.engines.dynamodb.jobs import DynamoDbExpiries, DynamoDbJobs, DynamoDbOwners
from palimpsest.engines.dynamodb.memories.store import DynamoDbMemories
from palimpsest.engines.dynamodb.memories.vectors import DynamoDbVectors
from palimpsest.engines.dynamodb.sessions.store import DynamoDbSessions
from palimpsest.engines.dynamodb.streams import stream_record
from palimpsest.jobs.events import JobNotice, Unreadable
from palimpsest.jobs.job import Job
from palimpsest.vectors.ports import VectorStore
from palimpsest_local.stores.state import Faults, State

from tests.contract.tables import memories_table, sessions_table
from tests.service import TENANT
from tests.unit.conversations.test_state_machine import BUDGET
from tests.unit.memory.test_machine import SOON, RememberedConversation
from tests.unit.whole_service import Whole

WRITES = frozenset(
    {
        "commit",
        "remove",
        "reschedule",
        "put",
        "start",
        "mark",
        "finish",
        "settle",
        "mark_indexed",
        "count_use",
        "move",
    }
)


class Mortal:
    """A store whose process may die before and after each write."""

    def __init__(self, store: Any, faults: Faults) -> None:
        self._store = store
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in WRITES:
            return found

        def write(*args: Any, **more: Any) -> Any:
            self._faults(f"before {name}")
            result = found(*args, **more)
            self._faults(f"after {name}")
            return result

        return write


class Stream:
    """What a table's stream tells that the mapping's filters let through."""

    def __init__(self, table: str, endpoint: str) -> None:
        self._client: Any = boto3.client("dynamodbstreams", endpoint_url=endpoint)
        described = boto3.client("dynamodb", endpoint_url=endpoint).describe_table(TableName=table)[
            "Table"
        ]
        arn = described["LatestStreamArn"]
        (shard,) = self._client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        self._place = self._client.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The records since the last look."""
        while True:
            page = self._client.get_records(ShardIterator=self._place)
            self._place = page["NextShardIterator"]
            yield from (record for record in page["Records"] if _passes(record))
            if not page["Records"]:
                return


def _passes(record: dict[str, Any]) -> bool:
    change, event = record["dynamodb"], record["eventName"]
    image = change.get("NewImage") or change["OldImage"]
    match image.get("type", {}).get("S"):
        case "job":
            return bool(event == "INSERT")
        case "message":
            return bool(event in ("INSERT", "REMOVE"))
        case "record":
            return bool(event == "REMOVE" or image["index_state"]["S"] == "pending")
    return False


class Streamed(Whole):
    """The whole service over tables of its own; jobs and changes come out of their streams."""

    def __init__(self, endpoint: str, folder: Path, *, faults: Faults, **memory: Any) -> None:
        self._endpoint = endpoint
        self._jobs_put: list[Job] = []
        super().__init__(folder, faults=faults, **memory)

    def stores_of(self, faults: Faults | None) -> Any:
        assert faults is not None
        endpoint = self._endpoint
        sessions, memories = self._tables = sessions_table(endpoint), memories_table(endpoint)
        self._streams = [Stream(table, endpoint) for table in (sessions, memories)]
        stores = (
            DynamoDbSessions(sessions, endpoint=endpoint),
            DynamoDbJobs(sessions, endpoint=endpoint),
            DynamoDbMemories(memories, sessions, endpoint=endpoint),
        )
        return tuple(Mortal(store, faults) for store in stores)

    @cached_property
    def shared(self) -> State:
        """Of tenants and keyed calls alone, which do not change here."""
        return State()

    def background_of(self, faults: Faults | None) -> Any:
        assert faults is not None
        sessions, memories = self._tables
        expiries = DynamoDbExpiries(memories, endpoint=self._endpoint)
        return Mortal(expiries, faults), DynamoDbOwners(sessions, memories, endpoint=self._endpoint)

    def vectors_of(self) -> VectorStore:
        return DynamoDbVectors(self._tables[1], endpoint=self._endpoint)

    def look(self) -> None:
        for record in (record for stream in self._streams for record in stream):
            told = stream_record(record).asks
            assert not isinstance(told, Unreadable)
            if isinstance(told, JobNotice):
                self._jobs_put.append(self.job(told.job_id))
            elif told is not None:
                self.changes.append(told)

    @property
    def outbox(self) -> list[Job]:
        self.look()
        return self._jobs_put

    def all_jobs(self) -> list[Job]:
        found = [self.jobs.get(TENANT, job.id) for job in self.outbox]
        return [job for job in found if job is not None]


class OverTables(RememberedConversation):
    """The machine over an engine that listens at `endpoint`."""

    def __init__(self, endpoint: str) -> None:
        super().__init__()
        self.endpoint = endpoint

    def service_of(self, memory: dict[str, Any]) -> Any:
        memory = {"max_tokens": BUDGET} | memory | SOON
        return Streamed(self.endpoint, Path(self.folder.name), faults=self.maybe_die, **memory)


@pytest.fixture
def _few_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the many sweeps asks every shard: with all 64 these were most of the machine's
    requests.
    """
    monkeypatch.setattr(places, "SHARDS", 4)


@pytest.mark.usefixtures("_few_shards")
def test_in_any_order_of_crashes_and_faults_all_is_remembered_once(dynoxide_endpoint: str) -> None:
    machine: Any = partial(OverTables, dynoxide_endpoint)
    run_state_machine_as_test(machine, settings=settings(max_examples=4, stateful_step_count=12))
