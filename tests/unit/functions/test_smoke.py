"""A new version gets traffic only if it answers, and CodeDeploy hears so either way."""

import ast
import io
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.api.handlers import ROOT, load

EVENT = json.loads((ROOT / "events" / "smoke" / "before-traffic.json").read_text())
FUNCTION = "Palimpsest-prod-SessionsFunction-Q3rT8uVwXyZa"
REFUSED = {"statusCode": 404, "body": "{}"}
WORKER = "Palimpsest-prod-SummarizeFunction-Q3rT8uVwXyZa"


@dataclass
class Aws:
    """CodeDeploy with one deployment, and Lambda with versions that answer as told."""

    answers: Mapping[str, object]
    error: str | None = None
    function: str = FUNCTION
    asked: list[tuple[str, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def get_deployment(self, deploymentId: str) -> dict[str, Any]:  # noqa: N803 - the names of AWS
        assert deploymentId == EVENT["DeploymentId"]
        shift = {"Name": self.function, "Alias": "live", "CurrentVersion": "6"}
        content = {"Resources": [{"it": {"Properties": {**shift, "TargetVersion": "7"}}}]}
        revision = {"appSpecContent": {"content": json.dumps(content)}}
        return {"deploymentInfo": {"revision": revision}}

    def put_lifecycle_event_hook_execution_status(self, *, status: str, **named: str) -> None:
        assert named["deploymentId"] == EVENT["DeploymentId"]
        assert named["lifecycleEventHookExecutionId"] == EVENT["LifecycleEventHookExecutionId"]
        self.told.append(status)

    def invoke(self, *, FunctionName: str, Qualifier: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        self.asked.append((FunctionName, Qualifier))
        answer = self.answers.get(Qualifier)
        failed = {} if self.error is None else {"FunctionError": self.error}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}


@pytest.mark.parametrize(
    ("aws", "status"),
    [
        (Aws({"7": REFUSED}), "Succeeded"),
        (Aws({"7": {"batchItemFailures": []}}, function=WORKER), "Succeeded"),
        (Aws({"7": {"statusCode": 500, "body": "{}"}}), "Failed"),
        (Aws({"7": REFUSED}, error="Unhandled"), "Failed"),
        (Aws({"7": {"errorType": "ImportError"}}, "Unhandled", WORKER), "Failed"),
        (Aws({"7": {"batchItemFailures": [{"itemIdentifier": ""}]}}, function=WORKER), "Failed"),
        (Aws({"7": None}), "Failed"),
    ],
    ids=["answers", "worker", "500", "fails", "no import", "failures", "nothing"],
)
def test_codedeploy_hears_whether_the_new_version_answers(
    aws: Aws, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load("smoke")
    monkeypatch.setattr(module, "client", lambda _: aws)
    module.handler(EVENT, None)
    assert aws.told == [status]
    assert aws.asked == [(aws.function, "7")]
    for call, _ in module.ASKED.values():
        assert call.get("Records", []) == []  # nobody is asked for work


def test_a_function_that_it_does_not_know_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    module, aws = load("smoke"), Aws({"7": REFUSED}, function="Another-ThingFunction-X")
    monkeypatch.setattr(module, "client", lambda _: aws)
    module.handler(EVENT, None)
    assert aws.told == ["Failed"]


def test_it_needs_nothing_of_the_release_that_it_judges() -> None:
    """A release whose layers can't be loaded must be reported, so the judge loads none of them."""
    tree = ast.parse((ROOT / "functions" / "smoke" / "handler.py").read_text())
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in _names(node)
    }
    assert imported <= sys.stdlib_module_names | {"boto3"}


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names]
