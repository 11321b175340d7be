"""Events on a bus (moto in process)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws
from palimpsest.engines.aws.events import EventBridge
from palimpsest.engines.aws.queues import SqsQueues
from palimpsest.engines.dynamodb.streams import stream_record
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import Happened
from palimpsest.workers.dispatch import Dispatch
from palimpsest_local.stores.state import State
from palimpsest_local.stores.tenants import LocalUsages

CREATED = Happened("MemoryCreated", "acme", {"user_id": "sarah", "memory_id": "mem_1"})


@pytest.fixture
def queue() -> Iterator[Any]:
    """A queue that gets what a rule of the bus lets through."""
    with mock_aws():
        queue = boto3.resource("sqs").create_queue(QueueName="told")
        events: Any = boto3.client("events")
        events.create_event_bus(Name="bus")
        events.put_rule(
            Name="all", EventBusName="bus", EventPattern=json.dumps({"source": ["palimpsest"]})
        )
        target = {"Id": "1", "Arn": queue.attributes["QueueArn"]}
        events.put_targets(Rule="all", EventBusName="bus", Targets=[target])
        yield queue


def test_an_event_has_its_name_its_tenant_and_ids(queue: Any) -> None:
    EventBridge("bus").publish([CREATED])
    (message,) = queue.receive_messages(MaxNumberOfMessages=10)
    event = json.loads(message.body)
    assert (event["source"], event["detail-type"]) == ("palimpsest", "MemoryCreated")
    assert event["detail"] == {"tenant": "acme", "user_id": "sarah", "memory_id": "mem_1"}


def refused(**_: Any) -> dict[str, int]:
    return {"FailedEntryCount": 1}


def unreachable(**_: Any) -> dict[str, int]:
    raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")


@pytest.mark.parametrize("put_events", [refused, unreachable])
def test_an_event_that_was_not_taken_is_unavailable(put_events: Any) -> None:
    bus = EventBridge("bus")
    bus.__dict__["_client"] = SimpleNamespace(put_events=put_events)
    with pytest.raises(Unavailable):
        bus.publish([CREATED])


def test_while_the_bus_is_down_its_events_wait_in_a_queue_and_are_published_afterwards(
    queue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = {
        name: boto3.client("sqs").create_queue(QueueName=name)["QueueUrl"]
        for name in ("events", "changes")
    }
    queues = SqsQueues({}, changes_url=urls["changes"], events_url=urls["events"])
    bus, unreachable_bus = EventBridge("bus"), EventBridge("bus")
    with monkeypatch.context() as down:
        down.setenv("AWS_ENDPOINT_URL_EVENTBRIDGE", "http://127.0.0.1:1")
        assert unreachable_bus._client.meta.endpoint_url == "http://127.0.0.1:1"
    dispatch = Dispatch(queues, stream_record, unreachable_bus, LocalUsages(State()))
    image = {"pk": {"S": "acme#sarah"}, "sk": {"S": "r#mem_1"}, "type": {"S": "record"}}
    keys = {name: image[name] for name in ("pk", "sk")}
    dispatch({"eventID": "1", "eventName": "INSERT", "dynamodb": {"Keys": keys, "NewImage": image}})
    (waiting,), (change,) = (
        boto3.resource("sqs").Queue(url).receive_messages() for url in urls.values()
    )
    assert json.loads(change.body)["record_id"] == "mem_1"
    assert queue.receive_messages() == []
    Dispatch(queues, stream_record, bus, LocalUsages(State())).publish(waiting.body)
    (message,) = queue.receive_messages()
    assert json.loads(message.body)["detail"] == {
        "tenant": "acme",
        "user_id": "sarah",
        "memory_id": "mem_1",
    }
