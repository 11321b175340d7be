"""The function for smoke tests. CodeDeploy calls it before a new version of a function gets
traffic. It asks that version once, and tells CodeDeploy whether the answer is right.

It has no layers and imports no library of ours, so that it can report a release whose layers can't
be loaded. For the same reason its rules are in this file.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

NAME = re.compile(r"-([A-Z][a-z]+)Function-")
"""The part of a function's CloudFormation name that is our own name for the function."""
CALLER = {"lambda": {"tenant": "smoke-test", "scopes": "read", "key_id": "0" * 64}}
NO_WORK: dict[str, Any] = {"Records": []}
WORKERS = ("dispatch", "summarize", "extract", "embed", "reindex", "sweep")


def handler(event: dict[str, Any], context: object) -> None:
    deployments, functions = client("codedeploy"), client("lambda")
    is_right = passes(event["DeploymentId"], deployments=deployments, functions=functions)
    deployments.put_lifecycle_event_hook_execution_status(
        deploymentId=event["DeploymentId"],
        lifecycleEventHookExecutionId=event["LifecycleEventHookExecutionId"],
        status="Succeeded" if is_right else "Failed",
    )


def client(service: str) -> Any:
    import boto3

    return boto3.client(service)  # type: ignore[call-overload]


def passes(deployment: str, *, deployments: Any, functions: Any) -> bool:
    """Return whether every version that the deployment brings answers as it should."""
    info = deployments.get_deployment(deploymentId=deployment)["deploymentInfo"]
    content = json.loads(info["revision"]["appSpecContent"]["content"])
    versions = [
        resource["Properties"] for named in content["Resources"] for resource in named.values()
    ]
    return all(
        answers(functions, version["Name"], version=version["TargetVersion"])
        for version in versions
    )


def answers(functions: Any, function: str, *, version: str) -> bool:
    """Return whether that version of a function answers as it should. The result is also logged."""
    named = NAME.search(function)
    name = named[1].lower() if named else ""
    event, is_right = ASKED.get(name, (NO_WORK, lambda _: False))
    answer = functions.invoke(
        FunctionName=function, Qualifier=version, Payload=json.dumps(event).encode()
    )
    content = json.loads(answer["Payload"].read() or "null")
    passed = "FunctionError" not in answer and content is not None and is_right(content)
    line = {"message": "smoke test", "function": name, "passed": passed}
    sys.stdout.write(json.dumps(line) + "\n")
    return passed


def call(method: str, path: str, **more: Any) -> dict[str, Any]:
    """Return the event of an HTTP request."""
    return {
        "version": "2.0",
        "routeKey": f"{method} {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {},
        "requestContext": {
            "http": {"method": method, "path": path},
            "requestId": "smoke-test",
            "stage": "$default",
            "authorizer": CALLER,
        },
        "isBase64Encoded": False,
        **more,
    }


def status(expected: int) -> Callable[[Any], bool]:
    return lambda answer: answer["statusCode"] == expected


ASKED: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "authorize": (call("GET", "/v1/sessions"), lambda answer: "isAuthorized" in answer),
    "site": (call("GET", "/v1/health"), status(200)),
    "sessions": (call("GET", "/v1/sessions/smoke-test/messages"), status(404)),
    "memories": (call("GET", "/v1/users/smoke-test/memories"), status(200)),
    **dict.fromkeys(WORKERS, (NO_WORK, lambda answer: answer == {"batchItemFailures": []})),
}
"""The request to each function, and a check of its answer. A worker gets no work; it only has to
start and find its settings. No call writes anything.
"""
