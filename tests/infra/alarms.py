"""Evaluates the alarms of a template as CloudWatch does, over metrics that a test makes up."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from tests.infra.conftest import Template

COMPARE = {"GreaterThanThreshold": operator.gt, "LessThanThreshold": operator.lt}
Data = Mapping[tuple[str, str], Sequence[float | None]]
"""The values of the last periods by metric and what it is of; None is a period without data."""


def firing(template: Template, data: Data) -> set[str]:
    """The alarms that are in the state ALARM, by the name that they have in the stack.

    Every period of an alarm must breach, as none of ours sets DatapointsToAlarm. Metrics that
    `data` does not name have no data.
    """
    alarms = template.of_type("AWS::CloudWatch::Alarm")
    return {
        name.removeprefix("Monitoring")[:-8]
        for name, alarm in alarms.items()
        if _is_firing(alarm, data)
    }


def _is_firing(alarm: Mapping[str, Any], data: Data) -> bool:
    assert "DatapointsToAlarm" not in alarm
    periods = alarm["EvaluationPeriods"]
    values = [*data.get((alarm["MetricName"], _of(alarm)), ())][-periods:]
    missing_periods: list[float | None] = [None] * (periods - len(values))
    values = missing_periods + values
    compare = COMPARE[alarm["ComparisonOperator"]]
    missing = alarm["TreatMissingData"] == "breaching"
    return all(missing if value is None else compare(value, alarm["Threshold"]) for value in values)


def _of(alarm: Mapping[str, Any]) -> str:
    """The thing that a metric is of: a queue, a function, a domain, or `account`."""
    for dimension in alarm.get("Dimensions", ()):
        if dimension["Name"] in ("QueueName", "FunctionName", "DomainName", "ApiId"):
            value = dimension["Value"]
            return value if isinstance(value, str) else str(next(iter(value.values())))
    return "account"
