"""The page about deployment counts what the template has."""

from __future__ import annotations

import re

import pytest

from infra import paths
from infra.config import Choices, stage_named
from infra.parts import monitoring
from tests.infra.conftest import Template

DOCUMENTS = paths.PROJECT / "docs"
PAGE = (DOCUMENTS / "deploy.md").read_text(encoding="utf-8")
OPERATIONS = (DOCUMENTS / "operations.md").read_text(encoding="utf-8")
NUMBERS = dict(
    zip(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
        range(2, 11),
        strict=True,
    )
)


def said(pattern: str) -> list[int]:
    """The numbers of a sentence, in digits or as a word."""
    (found,) = re.findall(pattern, PAGE)
    groups = [found] if isinstance(found, str) else found
    return [NUMBERS[group] if group in NUMBERS else int(group) for group in groups]


def test_the_page_counts_what_the_template_has(prod_on_tables: Template) -> None:
    prod = prod_on_tables
    tables = prod.of_type("AWS::DynamoDB::Table")
    polled = [
        each
        for each in prod.of_type("AWS::Lambda::EventSourceMapping").values()
        if "StartingPosition" not in each
    ]
    assert said(r"HTTP API \| (\d+) routes") == [len(prod.of_type("AWS::ApiGatewayV2::Route"))]
    assert said(r"\| (\w+) functions \|") == [len(prod.of_type("AWS::Lambda::Function"))]
    assert sum(said(r"\| (\w+) tables \|") + said(r"\| (\w+) tables of the search index")) == len(
        tables
    )
    assert said(r"\| (\w+) queues, dead letters included \| workers ask (\w+) of them") == [
        len(prod.of_type("AWS::SQS::Queue")),
        len(polled),
    ]
    assert said(r"\| (\d+) alarms,") == [len(prod.of_type("AWS::CloudWatch::Alarm"))]
    memory = [each["MemorySize"] for each in prod.of_type("AWS::Lambda::Function").values()]
    assert f"{min(memory)} to {max(memory):,} MB" in PAGE


def test_the_pages_say_what_the_stages_are_configured_with() -> None:
    prod, dev, budget = stage_named("prod"), stage_named("dev"), Choices().budget_usd
    assert f"{prod.log_days} days in `prod`, {dev.log_days} in `dev`" in PAGE
    assert f"{prod.sizes.requests_per_second} calls a second at most" in PAGE
    assert f"${budget} a month for the account" in PAGE
    assert f"`prod` accepts {prod.sizes.requests_per_second} calls per second" in OPERATIONS
    assert f"A budget of ${budget} a month" in OPERATIONS
    assert f"over {monitoring.REFUSED:,} calls were refused in five minutes" in OPERATIONS
    assert f"take more than {monitoring.SLOW_MS // 1000} s" in OPERATIONS
    assert f"has waited for {monitoring.WAITED_SECONDS // 60} minutes" in OPERATIONS


@pytest.mark.parametrize("page", ["operations.md", "api.md", "troubleshooting.md"])
def test_pages_say_how_many_refused_calls_get_a_problem(page: str) -> None:
    text = (DOCUMENTS / page).read_text(encoding="utf-8").lower()
    assert stage_named("prod").sizes.refusals_answered == 20
    assert re.search(r"twenty (refused |such )?calls a minute", text)
