"""The `sessions` function as Lambda runs it, in this process. It has its own handler, real events,
and tables on dynoxide.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.contract.tables import memories_table, sessions_table, tenants_table
from tests.engines import dynoxide
from tests.unit.api.gateway import ALL_SCOPES, LambdaContext, http_event

TENANT = "acme"
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A database engine with empty tables. `environment` has the function's environment variables,
    as the stack would set them.
    """

    endpoint: str
    engine: int  # its process
    environment: Mapping[str, str]


@contextlib.contextmanager
def place() -> Iterator[Place]:
    reason = dynoxide.missing()
    if reason is not None:
        sys.exit(reason)
    os.environ.update(_credentials())
    with dynoxide.running() as endpoint:
        environment = {
            **_credentials(),
            "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
            "STAGE": "local",
            "POWERTOOLS_SERVICE_NAME": "sessions",
            "SESSIONS_TABLE": sessions_table(endpoint),
            "MEMORIES_TABLE": memories_table(endpoint),
            "TENANTS_TABLE": tenants_table(endpoint),
            "OPENAI_KEY_PARAMETER": "/none",
            "EMBEDDING_MODEL": "none",
            "EMBEDDING_DIMENSION": "4",
            "CHAT_MODEL": "none",
            "CONTENTS_BUCKET": "none",
        }
        yield Place(endpoint, _child_with(endpoint.rpartition(":")[2]), environment)


class Function:
    """The function. A process can have only one, because the function reads its environment once,
    as in Lambda.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        os.environ.update(environment)
        # Lambda takes what the function logs without its CPU; here it goes where that costs as
        # little.
        with contextlib.redirect_stdout(Path(os.devnull).open("w")):
            from functions.sessions import handler
        self._handler = handler
        handler.app.warm()

    def __call__(self, event: Event) -> dict[str, Any]:
        return self._handler.handler(event, LambdaContext())  # type: ignore[arg-type] # what of it is used

    @property
    def client(self) -> Any:
        """Return the botocore client that all adapters share."""
        from palimpsest.engines.dynamodb.table import connected

        return connected(None, None)


def event(
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    key: str | None = None,
    tenant: str = TENANT,
) -> Event:
    text = None if body is None else json.dumps(body)
    headers = {} if key is None else {"idempotency-key": key}
    authorizer = {"lambda": {"tenant": tenant, "scopes": ALL_SCOPES, "key_id": "k" * 64}}
    return http_event(method, path, text, headers=headers, authorizer=authorizer)


def body_of(answer: Mapping[str, Any]) -> Any:
    """Return the answer's body. A refusal stops the benchmark."""
    if answer["statusCode"] >= 300:
        raise RuntimeError(f"{answer['statusCode']}: {answer['body']}")
    return json.loads(answer["body"])


def _credentials() -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _child_with(argument: str) -> int:
    """Return the process that we started with this argument."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            arguments = (entry / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if parent == os.getpid() and argument in arguments:
            return int(entry.name)
    raise RuntimeError(f"no process of ours was started with {argument}")
