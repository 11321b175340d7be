"""What cannot be read is put aside, what fails is kept, nobody may do more than his work, and no
log tells a secret.
"""

import io
import json
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from infra.operate.redrive import Redrive
from tests.e2e.stack import DEAD_LETTERS, PATIENCE, Client, Stack, eventually

pytestmark = pytest.mark.e2e
PARKED = "ParkedQueueUrl"
ALLOWED = ("allowed", "ParameterNotFound")
DENIED = ("AccessDenied", "AccessDeniedException")
PROBE = """
import boto3
from botocore.exceptions import ClientError


def handler(event, context):
    said = {}
    for name, (service, operation, arguments) in event.items():
        try:
            getattr(boto3.client(service), operation)(**arguments)
            said[name] = "allowed"
        except ClientError as error:
            said[name] = error.response["Error"]["Code"]
    return said
"""


@pytest.fixture(autouse=True)
def _nothing_is_left_from_before(stack: Stack) -> None:
    stack.take(DEAD_LETTERS)
    stack.take(PARKED)


@dataclass(frozen=True, slots=True)
class Stream:
    """The stream on its way to dispatch."""

    lambdas: Any
    mapping: str

    def stop(self) -> None:
        self.lambdas.update_event_source_mapping(UUID=self.mapping, Enabled=False)

    def go_on(self) -> None:
        self.lambdas.update_event_source_mapping(UUID=self.mapping, Enabled=True)


@pytest.fixture
def stream(stack: Stack) -> Iterator[Stream]:
    lambdas = stack.place.client("lambda")
    follows = {
        "EventSourceArn": stack.outputs["SessionsStream"],
        "FunctionName": stack.outputs["DispatchFunction"],
    }
    (found,) = lambdas.list_event_source_mappings(**follows)["EventSourceMappings"]
    stream = Stream(lambdas, found["UUID"])
    yield stream
    stream.go_on()


def unreadable_job(stack: Stack) -> dict[str, Any]:
    """Put a job whose kind can be no name of a kind, and return its keys."""
    keys = {"pk": {"S": f"acme#job#job_{uuid.uuid4().hex}"}, "sk": {"S": "job"}}
    item = {**keys, "type": {"S": "job"}, "kind": {"S": "not a kind!"}}
    stack.place.client("dynamodb").put_item(TableName=stack.outputs["SessionsTable"], Item=item)
    return keys


def test_a_message_that_names_no_job_ends_in_the_dead_letters_and_holds_up_nothing(
    call: Client, stack: Stack
) -> None:
    poison = f"no notice {uuid.uuid4()}"
    sqs = stack.place.client("sqs")
    sqs.send_message(QueueUrl=stack.outputs["SummarizeQueueUrl"], MessageBody=poison)
    assert call.job(call.overflow("s"))["state"] == "done"
    eventually(lambda: stack.waiting(DEAD_LETTERS) == 1)
    assert stack.take(DEAD_LETTERS) == [poison]


def test_a_job_that_cannot_be_read_is_parked_and_later_ones_go_on(
    call: Client, stack: Stack
) -> None:
    keys = unreadable_job(stack)
    assert call.job(call.overflow("s"))["state"] == "done"
    eventually(lambda: stack.waiting(PARKED) == 1)
    (parked,) = stack.take(PARKED)
    assert json.loads(parked)["keys"] == keys


def test_a_parked_job_can_be_started_and_if_its_record_comes_after_all_nothing_happens_twice(
    call: Client, stack: Stack, stream: Stream
) -> None:
    strange = unreadable_job(stack)
    eventually(lambda: stack.waiting(PARKED) == 1)
    stream.stop()
    job_id = call.overflow("s")
    keys = {"pk": {"S": f"{call.tenant}#job#{job_id}"}, "sk": {"S": "job"}}
    stack.place.client("sqs").send_message(
        QueueUrl=stack.outputs[PARKED], MessageBody=json.dumps({"keys": keys})
    )
    assert call.state(job_id) == "pending"

    started, stay = Redrive(stack.place, stack.outputs).parked()
    assert (started, len(stay)) == (1, 1), strange  # nobody knows what to do with the strange one
    assert call.job(job_id)["state"] == "done"
    stream.go_on()
    eventually(
        lambda: (
            sum(job_id in line and "job step done" in line for line in stack.logs("Summarize")) == 2
        )
    )
    assert len(call("GET", "/v1/sessions/s/compactions").json["compactions"]) == 1


@pytest.fixture
def attempts(stack: Stack) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Calls to AWS, by what they would do."""
    keys, sessions = (
        {"TableName": stack.outputs[name]} for name in ("TenantsTable", "SessionsTable")
    )
    one = {"pk": {"S": "key#0"}, "sk": {"S": "key"}}
    notice = json.dumps({"tenant": "acme", "job_id": "job_0", "kind": "summarize"})
    return {
        "read keys": ("dynamodb", "get_item", {**keys, "Key": one}),
        "write keys": ("dynamodb", "put_item", {**keys, "Item": one}),
        "read sessions": ("dynamodb", "get_item", {**sessions, "Key": one}),
        "erase sessions": ("dynamodb", "delete_item", {**sessions, "Key": one}),
        "start work": (
            "sqs",
            "send_message",
            {"QueueUrl": stack.outputs["SummarizeQueueUrl"], "MessageBody": notice},
        ),
        "read the model's key": (
            "ssm",
            "get_parameter",
            {"Name": stack.outputs["OpenAiKeyParameter"]},
        ),
    }


@pytest.fixture
def may(stack: Stack, attempts: dict[str, Any]) -> Iterator[Callable[[str], set[str]]]:
    """What a function's role lets it do of these, found out by a function of our own that has this
    role.
    """
    functions, name = stack.place.client("lambda"), f"probe-{uuid.uuid4().hex[:8]}"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", PROBE)

    def found_out(function: str) -> set[str]:
        role = functions.get_function_configuration(
            FunctionName=stack.outputs[f"{function}Function"]
        )["Role"]
        functions.create_function(
            FunctionName=name,
            Runtime="python3.13",
            Role=role,
            Handler="index.handler",
            Timeout=PATIENCE,
            Code={"ZipFile": packed.getvalue()},
        )
        answer = functions.invoke(FunctionName=name, Payload=json.dumps(attempts))
        said = json.loads(answer["Payload"].read())
        assert set(said.values()) <= {*ALLOWED, *DENIED}, said
        return {what for what, outcome in said.items() if outcome in ALLOWED}

    yield found_out
    functions.delete_function(FunctionName=name)


@pytest.mark.parametrize(
    ("function", "work"),
    [
        ("Authorize", {"read keys"}),
        # The local AWS ignores prefixes of keys. On AWS, Dispatch and the workers reach only tenants'
        # shares of the queues with these actions, and only settings of the tenants' table. Template
        # tests prove both.
        ("Dispatch", {"start work", "read sessions", "erase sessions"}),
        (
            "Summarize",
            {"read sessions", "read the model's key", "read keys", "start work", "erase sessions"},
        ),
        ("Sweep", {"read sessions", "erase sessions", "start work", "read keys"}),
        ("Site", set()),
    ],
)
def test_a_function_can_do_its_work_and_nothing_else(
    may: Callable[[str], set[str]], function: str, work: set[str]
) -> None:
    assert may(function) == work


def test_logs_hold_ids_and_sizes_but_nothing_that_was_said_and_no_key(
    call: Client, stack: Stack
) -> None:
    word, begun = f"canary{uuid.uuid4().hex}", time.time()
    call.begin("s", max_tokens=400, keep_recent_turns=2)
    call("PATCH", "/v1/sessions/s", {"system": f"{word} system", "metadata": {"note": word}})
    call.say("s", 10, about=word)
    called = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "look", "arguments": json.dumps({"q": word})},
    }
    messages = [{"role": "assistant", "content": None, "tool_calls": [called]}]
    assert call("POST", "/v1/sessions/s/messages", {"messages": messages}).status == 201
    refused = [
        call("POST", "/v1/sessions/s/messages", raw=f'{{"{word}'.encode()),
        call(
            "POST",
            "/v1/sessions/s/messages",
            {"messages": [{"role": word, "content": word}], word: word},
        ),
        call("GET", "/v1/sessions/s/context", query={"max_tokens": word}),
        Client(stack.url, f"pal_{word}")("GET", "/v1/sessions"),
    ]
    assert [answer.status for answer in refused] == [400, 422, 422, 401]
    stack.place.client("sqs").send_message(
        QueueUrl=stack.outputs["SummarizeQueueUrl"], MessageBody=word
    )
    call("GET", "/v1/sessions/s/context", query={"compact": "sync"})
    eventually(lambda: stack.waiting(DEAD_LETTERS) == 1)
    stack.take(DEAD_LETTERS)

    eventually(lambda: any(call.tenant in line for line in stack.logs("Summarize", since=begun)))
    told = "\n".join(stack.logs(since=begun)) + (stack.folder / "ministack.log").read_text(
        errors="replace"
    )
    assert call.tenant in told
    assert word not in told
    assert call.key not in told
    assert stack.key not in told
    items = (
        stack.place.client("dynamodb")
        .get_paginator("scan")
        .paginate(
            TableName=stack.outputs["SessionsTable"],
            FilterExpression="#type = :job",
            ExpressionAttributeNames={"#type": "type"},
            ExpressionAttributeValues={":job": {"S": "job"}},
        )
    )
    assert word not in str(list(items))
