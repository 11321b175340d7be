"""Each alarm fires on the metric of its failure, reaches a person, and is quiet otherwise."""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra import paths
from tests.infra.alarms import Data, Metric, firing
from tests.infra.conftest import Synthesized, Template, of_one_stage

SQS, HTTP, LAMBDA, DOMAIN = "AWS/SQS", "AWS/ApiGateway", "AWS/Lambda", "AWS/ES"
WAITING, AGE = "ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"
SWEEP, DISPATCH, PROD = "SweepFunction", "DispatchFunction", "palimpsest-prod"
THE_ACCOUNT = ""
Failure = tuple[str, str, str, str, str, list[float | None]]
FAILURES: list[Failure] = [
    ("DeadLetters", SQS, WAITING, "Maximum", "DeadLetters", [1]),
    ("Parked", SQS, WAITING, "Maximum", "Parked", [1]),
    ("SummarizeAge", SQS, AGE, "Maximum", "Summarize", [1_000]),
    ("ExtractAge", SQS, AGE, "Maximum", "Extract", [1_000]),
    ("EmbedAge", SQS, AGE, "Maximum", "Embed", [1_000]),
    ("SweepAge", SQS, AGE, "Maximum", "Sweep", [1_000]),
    ("ReindexAge", SQS, AGE, "Maximum", "Reindex", [1_000]),
    ("EventsAge", SQS, AGE, "Maximum", "Events", [1_000]),
    ("ServerErrors", HTTP, "5xx", "Sum", "Http", [5]),
    ("ClientErrors", HTTP, "4xx", "Sum", "Http", [6_000]),
    ("Latency", HTTP, "Latency", "p50", "Http", [4_000, 4_000, 4_000]),
    ("SweepErrors", LAMBDA, "Errors", "Sum", SWEEP, [5]),
    ("SweepStopped", LAMBDA, "Invocations", "Sum", SWEEP, [None, None, None]),
    ("Throttles", LAMBDA, "Throttles", "Sum", THE_ACCOUNT, [1, 1, 1]),
    ("StreamLag", LAMBDA, "IteratorAge", "Maximum", DISPATCH, [400_000]),
    ("SearchRed", DOMAIN, "ClusterStatus.red", "Maximum", PROD, [1]),
    ("SearchBlocked", DOMAIN, "ClusterIndexWritesBlocked", "Maximum", PROD, [1]),
    ("SearchMemory", DOMAIN, "JVMMemoryPressure", "Maximum", PROD, [92]),
    ("SearchStorage", DOMAIN, "FreeStorageSpace", "Minimum", PROD, [4_000]),
]
"""For each alarm the metric of its failure, by AWS's own documents: namespace, name, statistic of
five minutes, and the thing that it is of.
"""


def quiet(template: Template) -> dict[Metric, list[float | None]]:
    """What a stack publishes in which nothing is wrong."""
    return {
        metric_of(template, LAMBDA, "Invocations", "Sum", SWEEP): [5, 5, 5],
        metric_of(template, LAMBDA, "Errors", "Sum", SWEEP): [0],
        metric_of(template, DOMAIN, "FreeStorageSpace", "Minimum", PROD): [15_000],
        metric_of(template, DOMAIN, "ClusterStatus.red", "Maximum", PROD): [0],
    }


def metric_of(template: Template, namespace: str, name: str, statistic: str, of: str) -> Metric:
    """The metric with the dimensions under which AWS publishes it."""
    dimensions = {
        SQS: lambda: {"QueueName": named(template, "AWS::SQS::Queue", f"Queues{of}")},
        HTTP: lambda: {"ApiId": named(template, "AWS::ApiGatewayV2::Api", of)},
        LAMBDA: lambda: {"FunctionName": of} if of else {},
        DOMAIN: lambda: {"DomainName": of, "ClientId": "AWS::AccountId"},
    }
    return Metric(namespace, name, statistic, frozenset(dimensions[namespace]().items()))


def named(template: Template, kind: str, beginning: str) -> str:
    """The logical id of this kind that begins so, and ends with a hash of eight digits."""
    (found,) = (name for name in template.of_type(kind) if name[:-8].startswith(beginning))
    return found


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure[0])
def test_an_alarm_fires_on_the_metric_of_its_failure_alone(
    with_domains: Synthesized, failure: Failure
) -> None:
    prod = with_domains.prod
    alarm, namespace, name, statistic, of, values = failure
    assert firing(prod, quiet(prod)) == set()
    failing: Data = {**quiet(prod), metric_of(prod, namespace, name, statistic, of): values}
    assert firing(prod, failing) == {alarm}


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
    allowed = services_allowed(policy["PolicyDocument"], "sns:Publish", on={"Ref": topic})
    assert allowed == {"cloudwatch.amazonaws.com", "budgets.amazonaws.com"}
    if "KmsMasterKeyId" in properties:
        (key,) = template.of_type("AWS::KMS::Key").values()
        assert allowed <= services_allowed(key["KeyPolicy"], "kms:Decrypt", on="*")
        assert allowed <= services_allowed(key["KeyPolicy"], "kms:GenerateDataKey*", on="*")


def services_allowed(policy: dict[str, Any], action: str, *, on: Any) -> set[str]:
    """The services that a policy lets do something on a resource, for this account alone."""
    this = {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    return {
        statement["Principal"]["Service"]
        for statement in policy["Statement"]
        if statement["Effect"] == "Allow"
        and action in statement["Action"]
        and statement["Resource"] == on
        and statement.get("Condition", {}) == {"StringEquals": this}
    }


@pytest.fixture(scope="module")
def with_email(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The stage `dev` with an address for alarms, and no budget."""
    folder = tmp_path_factory.mktemp("cdk.out")
    return of_one_stage(folder, "dev", alarm_email="ops@example.com", budget_usd="0")


def test_a_budget_notifies_the_topic_unless_it_is_declined(
    synthesized: Synthesized, with_email: Template
) -> None:
    (budget,) = synthesized.dev.of_type("AWS::Budgets::Budget").values()
    assert budget["Budget"]["BudgetLimit"] == {"Amount": 50, "Unit": "USD"}
    (topic,) = synthesized.dev.of_type("AWS::SNS::Topic")
    for notification in budget["NotificationsWithSubscribers"]:
        assert [subscriber["Address"] for subscriber in notification["Subscribers"]] == [
            {"Ref": topic}
        ]
    for declined in (with_email, synthesized.local):
        kinds = {resource["Type"] for resource in declined.body["Resources"].values()}
        assert "AWS::Budgets::Budget" not in kinds


def test_the_address_of_the_deployer_gets_the_alarms(with_email: Template) -> None:
    (subscription,) = with_email.of_type("AWS::SNS::Subscription").values()
    (topic,) = with_email.of_type("AWS::SNS::Topic")
    assert subscription == {
        "Protocol": "email",
        "Endpoint": "ops@example.com",
        "TopicArn": {"Ref": topic},
    }


def test_the_page_for_operators_says_what_each_alarm_means_and_what_to_do(
    with_domains: Synthesized,
) -> None:
    page = (paths.PROJECT / "docs" / "operations.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| `")]
    explained = {name for row in rows if len(row) == 3 for name in re.findall(r"`(\w+)`", row[0])}
    alarms = with_domains.prod.of_type("AWS::CloudWatch::Alarm")
    assert {name.removeprefix("Monitoring")[:-8] for name in alarms} <= explained


def test_the_runbook_has_a_part_for_each_alarm(with_domains: Synthesized) -> None:
    page = (paths.PROJECT / "docs" / "runbook.md").read_text()
    parts = re.findall(r"^### (.+)\n\n(?!#)\S", page, re.MULTILINE)  # followed by what to do
    explained = {name for part in parts for name in part.split(", ")}
    alarms = with_domains.prod.of_type("AWS::CloudWatch::Alarm")
    assert {name.removeprefix("Monitoring")[:-8] for name in alarms} <= explained
