"""Each alarm fires on the metric of its failure, reaches a person, and is quiet otherwise."""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra import paths
from tests.infra.alarms import Data, firing
from tests.infra.conftest import Synthesized, Template

QUIET: Data = {
    ("Invocations", "SweepFunction"): [5, 5, 5],
    ("Errors", "SweepFunction"): [0],
    ("FreeStorageSpace", "palimpsest-prod"): [15_000],
    ("ClusterStatus.red", "palimpsest-prod"): [0],
}
API = "api"
FAILURES: list[tuple[str, str, str, list[float | None]]] = [
    ("DeadLetters", "ApproximateNumberOfMessagesVisible", "DeadLetters", [1]),
    ("Parked", "ApproximateNumberOfMessagesVisible", "Parked", [1]),
    ("SummarizeAge", "ApproximateAgeOfOldestMessage", "Summarize", [1_000]),
    ("ExtractAge", "ApproximateAgeOfOldestMessage", "Extract", [1_000]),
    ("EmbedAge", "ApproximateAgeOfOldestMessage", "Embed", [1_000]),
    ("SweepAge", "ApproximateAgeOfOldestMessage", "Sweep", [1_000]),
    ("ReindexAge", "ApproximateAgeOfOldestMessage", "Reindex", [1_000]),
    ("EventsAge", "ApproximateAgeOfOldestMessage", "Events", [1_000]),
    ("ServerErrors", "5xx", API, [5]),
    ("ClientErrors", "4xx", API, [6_000]),
    ("Latency", "Latency", API, [4_000, 4_000, 4_000]),
    ("SweepErrors", "Errors", "SweepFunction", [5]),
    ("SweepStopped", "Invocations", "SweepFunction", [None, None, None]),
    ("Throttles", "Throttles", "account", [1, 1, 1]),
    ("StreamLag", "IteratorAge", "DispatchFunction", [400_000]),
    ("SearchRed", "ClusterStatus.red", "palimpsest-prod", [1]),
    ("SearchBlocked", "ClusterIndexWritesBlocked", "palimpsest-prod", [1]),
    ("SearchMemory", "JVMMemoryPressure", "palimpsest-prod", [92]),
    ("SearchStorage", "FreeStorageSpace", "palimpsest-prod", [4_000]),
]


def data_of(template: Template, of: str, metric: str, values: list[float | None]) -> Data:
    """The quiet data, in which one metric shows a failure."""
    return {**QUIET, (metric, name_in(template, of)): values}


def name_in(template: Template, of: str) -> str:
    """What a metric's dimension says of a queue or of the API; functions have their own names."""
    queue = next(
        (name for name in template.of_type("AWS::SQS::Queue") if name.startswith(f"Queues{of}")),
        None,
    )
    if queue is not None:
        return str([queue, "QueueName"])
    return next(iter(template.of_type("AWS::ApiGatewayV2::Api"))) if of == API else of


@pytest.mark.parametrize(("alarm", "metric", "of", "values"), FAILURES, ids=str)
def test_an_alarm_fires_on_the_metric_of_its_failure_alone(
    with_domains: Synthesized, alarm: str, metric: str, of: str, values: list[float | None]
) -> None:
    prod = with_domains.prod
    assert firing(prod, QUIET) == set()
    assert firing(prod, data_of(prod, of, metric, values)) == {alarm}


def test_every_alarm_has_a_failure_that_it_was_tried_with(with_domains: Synthesized) -> None:
    alarms = with_domains.prod.of_type("AWS::CloudWatch::Alarm")
    assert {name.removeprefix("Monitoring")[:-8] for name in alarms} == {
        failure[0] for failure in FAILURES
    }


def test_calls_that_wait_for_their_job_are_not_called_slow(with_domains: Synthesized) -> None:
    """One call in a hundred that waits makes the 99th percentile 20 s, and not the median."""
    (latency,) = (
        each
        for each in with_domains.prod.of_type("AWS::CloudWatch::Alarm").values()
        if each["MetricName"] == "Latency"
    )
    assert latency["ExtendedStatistic"] == "p50"


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_an_alarm_reaches_its_topic_through_policy_and_key(
    synthesized: Synthesized, stage: str
) -> None:
    template: Template = getattr(synthesized, stage)
    ((topic, properties),) = template.of_type("AWS::SNS::Topic").items()
    for alarm in template.of_type("AWS::CloudWatch::Alarm").values():
        assert alarm["AlarmActions"] == [{"Ref": topic}]
    (policy,) = template.of_type("AWS::SNS::TopicPolicy").values()
    assert policy["Topics"] == [{"Ref": topic}]
    allowed = services_allowed(policy["PolicyDocument"], "sns:Publish")
    assert allowed == {"cloudwatch.amazonaws.com", "budgets.amazonaws.com"}
    if "KmsMasterKeyId" in properties:
        (key,) = template.of_type("AWS::KMS::Key").values()
        assert allowed <= services_allowed(key["KeyPolicy"], "kms:Decrypt")
        assert allowed <= services_allowed(key["KeyPolicy"], "kms:GenerateDataKey*")


def services_allowed(policy: dict[str, Any], action: str) -> set[str]:
    """The services that a policy lets do something, for this account alone."""
    return {
        statement["Principal"]["Service"]
        for statement in policy["Statement"]
        if statement["Effect"] == "Allow"
        and action in statement["Action"]
        and "aws:SourceAccount" in statement.get("Condition", {}).get("StringEquals", {})
    }


def test_a_budget_notifies_the_topic_unless_it_is_declined(synthesized: Synthesized) -> None:
    (budget,) = synthesized.dev.of_type("AWS::Budgets::Budget").values()
    assert budget["Budget"]["BudgetLimit"] == {"Amount": 50, "Unit": "USD"}
    (topic,) = synthesized.dev.of_type("AWS::SNS::Topic")
    for notification in budget["NotificationsWithSubscribers"]:
        assert [subscriber["Address"] for subscriber in notification["Subscribers"]] == [
            {"Ref": topic}
        ]
    kinds = {resource["Type"] for resource in synthesized.local.body["Resources"].values()}
    assert "AWS::Budgets::Budget" not in kinds


def test_the_page_for_operators_says_what_each_alarm_means_and_what_to_do(
    with_domains: Synthesized,
) -> None:
    page = (paths.PROJECT / "docs" / "operations.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| `")]
    explained = {name for row in rows if len(row) == 3 for name in re.findall(r"`(\w+)`", row[0])}
    alarms = with_domains.prod.of_type("AWS::CloudWatch::Alarm")
    assert {name.removeprefix("Monitoring")[:-8] for name in alarms} <= explained
