"""Every resource has the tags that the deployer chose."""

from __future__ import annotations

from typing import Any

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from infra.config import choices
from infra.tags import MOST
from tests.infra.conftest import Synthesized, Template, of_one_stage
from tests.infra.test_rules import told_of

TAGS = {"team": "memory", "cost": "42"}


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `dev`, in which the CDK also makes a function of its own."""
    return of_one_stage(tmp_path_factory.mktemp("cdk.out"), "dev", tags="team=memory, cost=42")


def untagged(template: Template, tags: dict[str, str]) -> list[str]:
    """The resources that can have tags, by CloudFormation's own schemas, and lack one of these."""
    wanted = set(tags.items())
    return [
        name
        for name, resource in template.body["Resources"].items()
        if (place := place_of_tags(resource["Type"]))
        and not wanted <= set(pairs(resource.get("Properties", {}).get(place, ())))
    ]


def place_of_tags(kind: str) -> str:
    if kind.startswith("Custom::"):
        return ""
    schema: Any = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    tagging = schema.get("tagging", {})
    return str(tagging["tagProperty"]).rsplit("/", 1)[-1] if tagging.get("taggable") else ""


def pairs(tags: Any) -> list[tuple[str, str]]:
    if isinstance(tags, dict):
        return list(tags.items())
    return [(tag["Key"], tag["Value"]) for tag in tags]


def test_every_resource_has_the_tags_of_the_deployer(largest: Template, tagged: Template) -> None:
    assert untagged(largest, {**TAGS, "service": "palimpsest", "stage": "prod"}) == []
    of_the_cdk = untagged(tagged, {**TAGS, "service": "palimpsest", "stage": "dev"})
    assert all(name.startswith("CustomS3AutoDeleteObjects") for name in of_the_cdk)


def test_cloudformation_gives_the_tags_of_the_stack_to_what_the_cdk_makes_on_its_own(
    tagged: Template,
) -> None:
    assert told_of(tagged)["tags"] == {**TAGS, "service": "palimpsest", "stage": "dev"}


def test_a_stack_has_two_tags_without_a_choice(synthesized: Synthesized) -> None:
    assert told_of(synthesized.prod)["tags"] == {"service": "palimpsest", "stage": "prod"}
    assert untagged(synthesized.prod, {"service": "palimpsest", "stage": "prod"}) == []


def test_a_value_may_be_empty_and_may_have_an_equals_sign() -> None:
    assert choices({"tags": "owner=,query=a=b, "}.get).tags == {"owner": "", "query": "a=b"}


@pytest.mark.parametrize(
    "tags",
    [
        "team",
        "=memory",
        "aws:team=memory",
        "team=memory;x",
        f"team={'x' * 257}",
        f"{'x' * 129}=memory",
        "stage=mine",
        "Service=mine",
        "team=a,Team=b",
        ",".join(f"tag{number}=x" for number in range(MOST + 1)),
    ],
)
def test_tags_that_aws_would_refuse_are_refused_before_a_deployment(tags: str) -> None:
    with pytest.raises(SystemExit, match="context `tags`"):
        choices({"tags": tags}.get)
