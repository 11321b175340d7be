"""Functions go back by one deployment: while traffic is shifting, CodeDeploy does it; later, aliases
move.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from infra.operate import rollback, target

DEPLOYED = datetime(2026, 12, 1, 12, tzinfo=UTC)
VERSIONS = {
    "Sessions": {1: "2026-11-01T09:00:00.000+0000", 2: "2026-12-01T12:01:00.000+0000"},
    "Extract": {1: "2026-11-01T09:00:00.000+0000", 2: "2026-11-20T09:00:00.000+0000"},
    "Site": {1: "2026-12-01T12:01:00.000+0000"},
}
"""The versions of functions, of which the last deployment changed `Sessions` and made `Site`."""


@dataclass
class Aws:
    """A stack's functions with their aliases, and deployments that are shifting."""

    shifting: list[str] = field(default_factory=list)
    live: dict[str, str] = field(
        default_factory=lambda: {name: str(max(of)) for name, of in VERSIONS.items()}
    )
    stopped: list[str] = field(default_factory=list)
    stack: str = "Palimpsest-prod"
    endpoint: str | None = None
    suffix: str = ":live"

    def client(self, _: str) -> Any:
        return self

    def outputs(self) -> dict[str, str]:
        return {f"{name}Function": f"{name}{self.suffix}" for name in VERSIONS}

    def get_paginator(self, operation: str) -> Any:
        return Pages(operation)

    def describe_stacks(self, **_: str) -> Any:
        return {
            "Stacks": [{"CreationTime": DEPLOYED.replace(year=2025), "LastUpdatedTime": DEPLOYED}]
        }

    def list_deployment_groups(self, **_: str) -> Any:
        return {"deploymentGroups": ["sessions"]}

    def list_deployments(self, **named: Any) -> Any:
        assert "InProgress" in named["includeOnlyStatuses"]
        return {"deployments": self.shifting}

    def stop_deployment(self, *, deploymentId: str, autoRollbackEnabled: bool) -> None:  # noqa: N803
        assert autoRollbackEnabled
        self.stopped.append(deploymentId)

    def get_alias(self, *, FunctionName: str, Name: str) -> Any:  # noqa: N803
        assert Name == "live"
        return {"FunctionVersion": self.live[FunctionName]}

    def update_alias(self, *, FunctionName: str, FunctionVersion: str, **_: Any) -> None:  # noqa: N803
        self.live[FunctionName] = FunctionVersion


@dataclass
class Pages:
    operation: str

    def paginate(self, **named: str) -> Any:
        if self.operation == "list_stack_resources":
            application = {
                "ResourceType": "AWS::CodeDeploy::Application",
                "PhysicalResourceId": "a",
            }
            return [{"StackResourceSummaries": [application]}]
        versions = VERSIONS[named["FunctionName"]].items()
        listed = [{"Version": str(number), "LastModified": made} for number, made in versions]
        return [{"Versions": [{"Version": "$LATEST", "LastModified": ""}, *listed]}]


def test_aliases_that_the_last_deployment_moved_go_back_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aws = Aws()
    monkeypatch.setattr(target, "chosen", lambda _: aws)
    rollback.main([])
    assert capsys.readouterr().out == "Sessions: version 2 -> 1\n"
    assert aws.live == {"Sessions": "1", "Extract": "2", "Site": "1"}
    rollback.main([])
    assert "where it was before" in capsys.readouterr().out


def test_a_deployment_that_is_shifting_is_stopped_and_goes_back_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aws = Aws(shifting=["d-1"])
    monkeypatch.setattr(target, "chosen", lambda _: aws)
    rollback.main([])
    assert (aws.stopped, aws.live["Sessions"]) == (["d-1"], "2")
    assert "d-1 was stopped" in capsys.readouterr().out


def test_a_stack_without_aliases_keeps_no_earlier_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(suffix="")
    monkeypatch.setattr(target, "chosen", lambda _: aws)
    with pytest.raises(SystemExit, match="without `-c deploy=canary`"):
        rollback.main([])
