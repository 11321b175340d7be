"""Evaluates the alarms of a template as CloudWatch does, over metrics that a test makes up."""

from __future__ import annotations

import operator
import re
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
    values = _values(alarm, data, periods=alarm["EvaluationPeriods"])
    compare = COMPARE[alarm["ComparisonOperator"]]
    missing = alarm["TreatMissingData"] == "breaching"
    return all(missing if value is None else compare(value, alarm["Threshold"]) for value in values)


def _values(alarm: Mapping[str, Any], data: Data, *, periods: int) -> Sequence[float | None]:
    """The values of the alarm's metric, or of the one expression that we use: the greatest of
    several metrics, where a period without data is 0.
    """
    if "MetricName" in alarm:
        return _last(data.get((alarm["MetricName"], _of(alarm)), ()), periods)
    (computed,) = [each for each in alarm["Metrics"] if "Expression" in each]
    parts = re.fullmatch(r"MAX\(\[(.+)\]\)", computed["Expression"])
    assert parts, computed
    series = {}
    for each in alarm["Metrics"]:
        if "MetricStat" in each:
            metric = each["MetricStat"]["Metric"]
            found = data.get((metric["MetricName"], _of(metric)), ())
            series[f"FILL({each['Id']}, 0)"] = [value or 0 for value in _last(found, periods)]
    assert parts[1] == ", ".join(series)
    return [max(values) for values in zip(*series.values(), strict=True)]


def _last(values: Sequence[float | None], periods: int) -> list[float | None]:
    found = [*values][-periods:]
    return [None] * (periods - len(found)) + found


def _of(alarm: Mapping[str, Any]) -> str:
    """The thing that a metric is of: a queue, a function, a domain, or `account`."""
    for dimension in alarm.get("Dimensions", ()):
        if dimension["Name"] in ("QueueName", "FunctionName", "DomainName", "ApiId"):
            value = dimension["Value"]
            return value if isinstance(value, str) else str(next(iter(value.values())))
    return "account"
