"""The queues, in memory and on SQS (moto in process)."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, get_args

import boto3
import pytest
from moto import mock_aws
from palimpsest.engines.aws.queues import SqsQueues, SqsVisibility
from palimpsest.errors import Unavailable
from palimpsest.jobs.events import JobNotice, MessageChanged, RecordChanged
from palimpsest.jobs.kinds import JobKind
from palimpsest.jobs.ports import Queues
from palimpsest.workers import batches

from tests.doubles.queues import InMemoryQueues
from tests.unit.api.gateway import LambdaContext

SUMMARIZE = JobNotice("acme", "job_1", "summarize")
DELETE = JobNotice("acme", "job_2", "delete")
WITHDRAW = JobNotice("acme", "job_3", "withdraw")


@dataclass(frozen=True, slots=True)
class Line:
    """Queues, and what came out at their other end: notices by queue, and parked records."""

    queues: Queues
    received: Callable[[str], list[dict[str, Any]]]
    parked: Callable[[], list[str]]


def _in_memory() -> Line:
    queues = InMemoryQueues()
    kinds = {"summarize": ("summarize",), "sweep": ("delete", "withdraw")}

    def received(name: str) -> list[dict[str, Any]]:
        if name == "embed":
            return [asdict(change) for change in queues.changes]
        sent = [notice for notice in queues.sent if notice.kind in kinds[name]]
        return [
            {"tenant": notice.tenant, "job_id": notice.job_id, "kind": notice.kind}
            for notice in sent
        ]

    return Line(queues, received, lambda: queues.parked)


def _bodies(sqs: Any, url: str) -> list[str]:
    found: list[str] = []
    while got := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found += [message["Body"] for message in got]
    return found


def _on_sqs() -> Line:
    sqs: Any = boto3.client("sqs")
    urls = {
        name: sqs.create_queue(QueueName=name)["QueueUrl"]
        for name in ("summarize", "sweep", "embed", "parked")
    }
    by_kind: dict[JobKind, str] = {
        "summarize": urls["summarize"], "delete": urls["sweep"], "withdraw": urls["sweep"],
    }  # fmt: skip
    queues = SqsQueues(by_kind, changes_url=urls["embed"], parked_url=urls["parked"])
    return Line(
        queues,
        lambda name: [json.loads(body) for body in _bodies(sqs, urls[name])],
        lambda: _bodies(sqs, urls["parked"]),
    )


@pytest.fixture(params=["in_memory", "sqs"])
def line(request: pytest.FixtureRequest) -> Iterator[Line]:
    if request.param == "in_memory":
        yield _in_memory()
    else:
        with mock_aws():
            yield _on_sqs()


def test_a_notice_reaches_the_queue_of_its_kind_and_holds_names_only(line: Line) -> None:
    line.queues.send([SUMMARIZE, DELETE, WITHDRAW])
    assert line.received("summarize") == [
        {"tenant": "acme", "job_id": "job_1", "kind": "summarize"}
    ]
    sweep = sorted(line.received("sweep"), key=lambda body: body["job_id"])
    assert [(body["job_id"], body["kind"]) for body in sweep] == [
        ("job_2", "delete"),
        ("job_3", "withdraw"),
    ]


@mock_aws
def test_every_message_of_work_names_its_tenant_as_its_group() -> None:
    sqs: Any = boto3.client("sqs")
    work, changes = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("sweep", "embed"))
    queues = SqsQueues(dict.fromkeys(get_args(JobKind), work), changes_url=changes)
    tenants = ("acme", "a|b=c+d@e._:-", "x" * 128)
    queues.send(
        [JobNotice(tenant, "job_1", kind) for tenant in tenants for kind in get_args(JobKind)]
    )
    queues.send_changes([RecordChanged(tenant, "sarah", "mem_1") for tenant in tenants])
    queues.send_changes([MessageChanged(tenant, "onboarding-7", 12) for tenant in tenants])
    for url, of_each in ((work, len(get_args(JobKind))), (changes, 2)):
        groups = Counter[str]()
        while got := sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"]
        ).get("Messages"):
            for message in got:
                group = message["Attributes"]["MessageGroupId"]
                assert json.loads(message["Body"])["tenant"] == group
                groups[group] += 1
        assert groups == dict.fromkeys(tenants, of_each)


def test_many_notices_all_arrive(line: Line) -> None:
    line.queues.send([JobNotice("acme", f"job_{number}", "summarize") for number in range(23)])
    assert {body["job_id"] for body in line.received("summarize")} == {
        f"job_{number}" for number in range(23)
    }


def test_a_change_of_what_is_searched_travels_by_its_names(line: Line) -> None:
    line.queues.send_changes(
        [RecordChanged("acme", "sarah", "mem_1"), MessageChanged("acme", "onboarding-7", 12)]
    )
    received = line.received("embed")
    assert {"tenant": "acme", "user": "sarah", "record_id": "mem_1"} in received
    assert {"tenant": "acme", "session": "onboarding-7", "seq": 12} in received
    assert len(received) == 2


def test_nothing_to_send_sends_nothing(line: Line) -> None:
    line.queues.send([])
    line.queues.send_changes([])
    assert line.received("summarize") == []


def test_a_parked_record_is_kept_as_it_is(line: Line) -> None:
    line.queues.park('{"event_id": "7", "keys": {"pk": {"S": "x\\u0000"}}}')
    assert line.parked() == ['{"event_id": "7", "keys": {"pk": {"S": "x\\u0000"}}}']


def test_queues_in_memory_can_be_down() -> None:
    queues = InMemoryQueues()
    queues.is_down = True
    with pytest.raises(Unavailable):
        queues.send([SUMMARIZE])
    with pytest.raises(Unavailable):
        queues.send_changes([MessageChanged("acme", "onboarding-7", 12)])
    with pytest.raises(Unavailable):
        queues.park("{}")
    assert (queues.sent, queues.changes, queues.parked) == ([], [], [])


@mock_aws
def test_a_queue_that_is_not_there_is_unavailable() -> None:
    url = "https://sqs.us-east-1.amazonaws.com/123456789012/none"
    queues = SqsQueues({"summarize": url}, parked_url=url)
    with pytest.raises(Unavailable):
        queues.send([SUMMARIZE])
    with pytest.raises(Unavailable):
        queues.park("{}")
    with pytest.raises(Unavailable):
        SqsVisibility(url).hide("handle", seconds=5)


@mock_aws
def test_a_hidden_message_is_seen_again_when_it_is_told_to() -> None:
    sqs: Any = boto3.client("sqs")
    url = sqs.create_queue(QueueName="summarize", Attributes={"VisibilityTimeout": "540"})[
        "QueueUrl"
    ]
    SqsQueues({"summarize": url}, parked_url=url).send([SUMMARIZE])
    (received,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    SqsVisibility(url).hide(received["ReceiptHandle"], seconds=0.2)
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


@mock_aws
def test_a_message_is_hidden_no_longer_than_sqs_allows() -> None:
    sqs: Any = boto3.client("sqs")
    url = sqs.create_queue(QueueName="summarize")["QueueUrl"]
    SqsQueues({"summarize": url}, parked_url=url).send([SUMMARIZE])
    (received,) = sqs.receive_message(QueueUrl=url)["Messages"]
    SqsVisibility(url).hide(received["ReceiptHandle"], seconds=10**6)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


@mock_aws
def test_all_messages_of_a_batch_are_hidden_and_a_message_that_is_gone_is_noticed() -> None:
    sqs: Any = boto3.client("sqs")
    url = sqs.create_queue(QueueName="embed", Attributes={"VisibilityTimeout": "360"})["QueueUrl"]
    SqsQueues({"summarize": url}, parked_url=url).send([SUMMARIZE] * 10)
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    handles = [each["ReceiptHandle"] for each in received]
    SqsVisibility(url).hide(*handles, seconds=0)
    assert len(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]) == 10
    with pytest.raises(Unavailable):
        SqsVisibility(url).hide("nobody's", seconds=5)


@mock_aws
def test_messages_are_hidden_by_calls_that_the_roles_of_both_places_allow() -> None:
    sqs: Any = boto3.client("sqs")
    url = sqs.create_queue(QueueName="embed")["QueueUrl"]
    SqsQueues({"summarize": url}, parked_url=url).send([SUMMARIZE] * 2)
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    visibility, called = SqsVisibility(url), set()
    visibility._sqs.meta.events.register(
        "before-call.sqs", lambda model, **_: called.add(model.name)
    )
    visibility.hide(*[each["ReceiptHandle"] for each in received], seconds=5)
    assert called == {"ChangeMessageVisibility"}


@mock_aws
def test_the_message_of_a_killed_worker_comes_back_when_it_must_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sqs: Any = boto3.client("sqs")
    url = sqs.create_queue(QueueName="embed", Attributes={"VisibilityTimeout": "360"})["QueueUrl"]
    SqsQueues({}, changes_url=url).send_changes([MessageChanged("acme", "onboarding-7", 12)])
    (received,) = sqs.receive_message(QueueUrl=url)["Messages"]
    record = {
        "messageId": "m1",
        "receiptHandle": received["ReceiptHandle"],
        "body": received["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    monkeypatch.setattr(batches, "AFTER_THE_END", -59)  # of the 60 s that the context has left
    context: Any = LambdaContext()

    def killed(_: object) -> Any:
        assert "Messages" not in sqs.receive_message(QueueUrl=url)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        batches.change_batch(
            {"Records": [record]}, context, embed=killed, hide=SqsVisibility(url).hide
        )
    time.sleep(1.1)
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1
