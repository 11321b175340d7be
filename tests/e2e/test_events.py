import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from palimpsest.settings import BY_FUNCTION

from infra import paths
from infra.config import BUILTIN
from infra.operate.api_keys import key_id
from tests.contract.tables import memories_table, sessions_table, tenants_table
from tests.e2e import rie
from tests.e2e.stack import Client, Stack
from tests.engines import npm
from tests.engines.loopback import HOST, free_port
from tests.unit.functions.test_events import MEMORY_STATUS, STATUS

pytestmark = pytest.mark.e2e
EVENTS = paths.PROJECT / "events"
EVERY, MODELS, EMBEDDING = ("runtime",), ("runtime", "models"), ("runtime", "models", "builtin")
LAYERS = {
    "memories": (*EMBEDDING, "graph"),
    "summarize": MODELS,
    "extract": MODELS,
    "embed": EMBEDDING,
    "reindex": EMBEDDING,
    "site": ("runtime", "console", "description"),
}  # the others have what every function has
KNOWN = [  # what the samples of `memories` are about
    {
        "type": "fact",
        "topic_key": "department",
        "content": content,
        "valid_from": f"{day}T08:00:00Z",
    }
    for content, day in (
        ("Sarah works in Sales.", "2025-03-01"),
        ("Sarah works in Marketing.", "2025-12-01"),
    )
]
BEFORE = {
    "save": {"memories": KNOWN},
    "ingest": {
        "session_id": "onboarding-7",
        "agent_id": "hr-assistant",
        "messages": [{"role": "user", "content": "Hello, I am Sarah."}],
    },
}
REPEATS = 5
API_KEY = "pal_" + "EXAMPLE-" * 5 + "KEY"  # the one in events/authorize/key.json


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Tables and queues on loopback: the variables that lead functions there."""
    if reason := rie.missing():
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    server = ThreadedMotoServer(ip_address=HOST, port=free_port())
    server.start()
    try:
        index = tmp_path_factory.mktemp("search") / "index.sqlite"
        yield _variables(f"http://{HOST}:{server.get_host_and_port()[1]}") | {
            "SEARCH_URL": index.as_uri()
        }
    finally:
        server.stop()


def _variables(endpoint: str) -> dict[str, str]:
    sqs = boto3.client("sqs", endpoint_url=endpoint)
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="contents")
    urls = {
        name: sqs.create_queue(QueueName=name)["QueueUrl"]
        for name in ("summarize", "extract", "embed", "reindex", "sweep", "events", "parked")
    }
    tenants = tenants_table(endpoint)
    key: dict[str, Any] = {
        "pk": f"key#{key_id(API_KEY)}",
        "sk": "key",
        "tenant": "acme",
        "scopes": ["read"],
        "revoked": False,
    }
    boto3.resource("dynamodb", endpoint_url=endpoint).Table(tenants).put_item(Item=key)
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "STAGE": "local",
        "LOG_LEVEL": "INFO",
        "POWERTOOLS_SERVICE_NAME": "palimpsest",
        "TENANTS_TABLE": tenants,
        "SESSIONS_TABLE": sessions_table(endpoint),
        "MEMORIES_TABLE": memories_table(endpoint),
        "CONTENTS_BUCKET": "contents",
        "EVENT_BUS": "default",
        "EMBEDDING_MODEL": BUILTIN.model,
        "EMBEDDING_DIMENSION": str(BUILTIN.dimension),
        **{f"{name.upper()}_QUEUE_URL": url for name, url in urls.items()},
        "OPENAI_KEY_PARAMETER": "/palimpsest/test/openai-api-key",
        "OPENAI_BASE_URL": "",
        "CHAT_MODEL": "gpt-4.1-nano",
    }


@pytest.fixture(scope="module", params=sorted(BY_FUNCTION))
def function(
    request: pytest.FixtureRequest, aws: dict[str, str]
) -> Iterator[tuple[str, rie.Emulated]]:
    """Each function in turn, told only the variables that its settings name."""
    name: str = request.param
    wanted = {field.upper() for field in BY_FUNCTION[name].model_fields} | {"AWS_ENDPOINT_URL"}
    layers = rie.built_layers(*LAYERS.get(name, EVERY), searches="SEARCH_URL" in wanted)
    told = {variable: value for variable, value in aws.items() if variable in wanted}
    with rie.running(name, layers=layers, environment=told) as emulated:
        yield name, emulated


def samples(function: str) -> list[Path]:
    """A function's events; the one that begins the session of the others first, those that delete
    what they are about last.
    """
    found = sorted((EVENTS / function).glob("*.json"))
    assert found, f"{function} has no event"
    return sorted(
        found, key=lambda path: (path.stem in ("delete", "forget", "erase"), path.stem != "append")
    )


def answered(emulated: rie.Emulated, event: dict[str, Any]) -> Any:
    """The answer to an event. A store that is late on a busy machine is 503: then the call is
    repeated, as a client repeats it.
    """
    for _ in range(REPEATS):
        answer = emulated.invoke(event)
        if not isinstance(answer, dict) or answer.get("statusCode") != 503:
            break
    return answer


def test_every_event_is_answered_by_what_is_shipped(function: tuple[str, rie.Emulated]) -> None:
    name, emulated = function
    if name == "memories":
        for case, body in BEFORE.items():
            event = json.loads((EVENTS / name / f"{case}.json").read_text())
            prepared = answered(emulated, {**event, "body": json.dumps(body)})
            assert prepared["statusCode"] in (201, 202)
    for sample in samples(name):
        answer = answered(emulated, json.loads(sample.read_text()))
        assert "errorType" not in (answer or {}), f"{sample}: {answer}"
        check = CHECKS.get(name)
        if check is not None:
            assert check(sample.stem, answer), f"{sample}: {answer}"


def test_what_sam_is_given_leads_a_function_to_the_running_stack(
    stack: Stack, call: Client
) -> None:
    """SAM needs containers; its variables are resolved here as it does, and the function runs where
    it would.
    """
    said = stack.run("infra.local", "sam", "--host", HOST)
    values, template = stack.folder / "sam.env.json", stack.folder / "cdk.out" / "sam.template.json"
    assert f"-t {template} --env-vars {values}" in said
    assert values.stat().st_mode & 0o077 == 0
    declared = json.loads(template.read_text())["Resources"]["SessionsFunction"]["Properties"][
        "Environment"
    ]
    given = json.loads(values.read_text())["SessionsFunction"]
    environment = {name: given.get(name, value) for name, value in declared["Variables"].items()}
    event = json.loads((EVENTS / "sessions" / "append.json").read_text())
    event["requestContext"]["authorizer"]["lambda"]["tenant"] = call.tenant
    with rie.running(
        "sessions", layers=rie.built_layers(*MODELS, searches=True), environment=environment
    ) as emulated:
        assert emulated.invoke(event)["statusCode"] == 201
    (session,) = call("GET", "/v1/sessions").json["sessions"]
    assert session["session_id"] == event["rawPath"].split("/")[3]


def _no_failures(_: str, answer: Any) -> bool:
    return not answer.get("batchItemFailures")


CHECKS = {
    "authorize": lambda case, answer: ("tenant" in answer["context"]) is (case == "key"),
    "sessions": lambda case, answer: (
        answer["statusCode"] == (STATUS | {"extract": 202})[case]
    ),  # `end` began it
    "memories": lambda case, answer: answer["statusCode"] == MEMORY_STATUS[case],
    "site": lambda case, answer: answer["statusCode"] == 200,
    "dispatch": _no_failures,
    "summarize": _no_failures,
    "extract": _no_failures,
    "embed": _no_failures,
    "reindex": lambda case, answer: (
        answer["is_new"] if case == "start" else _no_failures(case, answer)
    ),
    "sweep": _no_failures,
}
