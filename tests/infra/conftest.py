"""Two syntheses for all tests here: the three stages as they are, and with a search domain each;
cdk-nag on them.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.app import application
from infra.local.deploy import IN_PLACE

Resources = dict[str, dict[str, Any]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/infra/" in item.path.as_posix():
            item.add_marker(pytest.mark.infra)


@dataclass(frozen=True, slots=True)
class Template:
    """A template's resources by type, and where a resource's references lead."""

    body: Mapping[str, Any]
    path: Path

    def of_type(self, kind: str) -> Resources:
        resources = {
            name: resource["Properties"]
            for name, resource in self.body["Resources"].items()
            if resource["Type"] == kind
        }
        assert resources, f"the template has no {kind}"
        return resources

    def functions(self) -> Resources:
        """Functions by the name they have in functions/. Those of the CDK are left out."""
        return {
            name.removesuffix("Function").lower(): resource
            for name, resource in self.of_type("AWS::Lambda::Function").items()
            if name.endswith("Function")
        }

    def statements(self, function: str) -> list[dict[str, Any]]:
        """What a function's role may do."""
        policies = self.of_type("AWS::IAM::Policy")
        mine = [
            policy
            for name, policy in policies.items()
            if name.startswith(f"{function.capitalize()}Role")
        ]
        return [statement for policy in mine for statement in policy["PolicyDocument"]["Statement"]]

    def mappings(self, *, streams: bool) -> list[dict[str, Any]]:
        """What streams, or queues, start which function."""
        mappings = self.of_type("AWS::Lambda::EventSourceMapping").values()
        return [mapping for mapping in mappings if ("StartingPosition" in mapping) is streams]


@dataclass(frozen=True, slots=True)
class Synthesized:
    local: Template
    dev: Template
    prod: Template
    findings: list[dict[str, Any]]


@pytest.fixture(scope="session")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return _synthesized(tmp_path_factory.mktemp("cdk.out"))


@pytest.fixture(scope="session")
def with_domains(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """Every stage with a managed search domain: what else differs between them differs by stage."""
    return _synthesized(tmp_path_factory.mktemp("cdk.out"), search="opensearch")


@pytest.fixture(scope="session")
def without_search(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `dev` without a search index."""
    return of_one_stage(tmp_path_factory.mktemp("cdk.out"), "dev", search="none")


COLLECTOR = "arn:aws:lambda:eu-central-1:901920570463:layer:aws-otel-collector-arm64:1"
LARGEST = {
    "search": "opensearch",
    "deploy": "canary",
    "models_from": "bedrock",
    "models": "global.openai.gpt-6-luna,us.openai.gpt-oss-120b-1:0",
    "rerank": "cohere",
    "domain_name": "memory.example.com",
    "certificate": "arn:aws:acm:us-east-1:123456789012:certificate/1",
    "alarm_email": "ops@example.com",
    "traces": "xray",
    "tags": "team=memory,cost=42",
}
"""The choices that add most to a template, all at once."""


@pytest.fixture(scope="session")
def largest(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `prod` with every choice that adds to it, the models that ship with the functions,
    and the rights that its models of Bedrock need.
    """
    return of_one_stage(tmp_path_factory.mktemp("cdk.out"), "prod", staged=False, **LARGEST)


@pytest.fixture(scope="session")
def largest_on_bedrock(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The same with vectors of Bedrock, tables in place of the domain, and a collector's layer."""
    chosen = {**LARGEST, "search": "dynamodb", "embedding": "cohere", "traces_layer": COLLECTOR}
    sink = "http://localhost:4318/v1/traces"
    folder = tmp_path_factory.mktemp("cdk.out")
    return of_one_stage(folder, "prod", staged=False, **{**chosen, "traces": sink})


@pytest.fixture(scope="session")
def prod_on_tables(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `prod` with the tables of the search index; its assets stand beside it as they are
    uploaded.
    """
    return of_one_stage(tmp_path_factory.mktemp("cdk.out"), "prod", staged=True, search="dynamodb")


@pytest.fixture(scope="session")
def with_models(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `dev` with models that the deployer lists."""
    folder = tmp_path_factory.mktemp("cdk.out")
    return of_one_stage(folder, "dev", chat_model="gpt-4.1", models="gpt-4.1-mini, gpt-4.1")


@pytest.fixture(scope="session")
def with_openai(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `dev` with vectors of OpenAI's server."""
    return of_one_stage(tmp_path_factory.mktemp("cdk.out"), "dev", embedding="openai")


def of_one_stage(folder: Path, stage: str, *, staged: bool = False, **context: str) -> Template:
    """Where no test reads the assets they are not staged: copying them would take most of a
    synthesis.
    """
    with _plainly():
        _synthesize(folder, {**context, "stage": stage}, staged=staged)
    return _template(folder, stage)


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    """A synthesis that no context of this shell changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CDK_VALIDATION", "false")
        patch.delenv("CDK_CONTEXT_JSON", raising=False)
        yield


def _synthesized(folder: Path, **context: str) -> Synthesized:
    with _plainly():
        _synthesize(folder, {"stage": "local,dev,prod", **context})
    templates = {stage: _template(folder, stage) for stage in ("local", "dev", "prod")}
    return Synthesized(**templates, findings=findings_of(folder))


@pytest.fixture(scope="session")
def prod(synthesized: Synthesized) -> Template:
    return synthesized.prod


def _synthesize(folder: Path, context: Mapping[str, str], *, staged: bool = False) -> None:
    try:
        application(folder, **({} if staged else IN_PLACE), **context).synth()
    except RuntimeError as error:
        if "ValidationFailed" not in str(error):  # findings fail their own test, not all of them
            raise


def _template(folder: Path, stage: str) -> Template:
    path = folder / f"Palimpsest-{stage}.template.json"
    return Template(json.loads(path.read_text()), path)


def findings_of(folder: Path) -> list[dict[str, Any]]:
    reports = json.loads((folder / "validation-report.json").read_text())["pluginReports"]
    assert "AwsSolutions" in [report["pluginName"] for report in reports]
    return [violation for report in reports for violation in report["violations"]]
