"""Evaluates the alarms of a template as CloudWatch does, over metrics that a test makes up."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.infra.conftest import Template

COMPARE = {"GreaterThanThreshold": operator.gt, "LessThanThreshold": operator.lt}


class Metric(NamedTuple):
    """A metric as AWS publishes it, and how it is added up. `of` are its dimensions, all of which
    an alarm must name. `period` is in seconds.
    """

    namespace: str
    name: str
    statistic: str
    of: frozenset[tuple[str, str]]
    period: int = 300


Data = Mapping[Metric, Sequence[float | None]]
"""The values of the last periods by metric; None is a period without data."""


def firing(template: Template, data: Data) -> set[str]:
    """The alarms that are in the state ALARM, by the name that they have in the stack.

    Every period of an alarm must breach, as none of ours sets DatapointsToAlarm. Metrics that
    `data` does not name have no data, also if only their statistic or period differs.
    """
    alarms = template.of_type("AWS::CloudWatch::Alarm")
    return {
        name.removeprefix("Monitoring")[:-8]
        for name, alarm in alarms.items()
        if _is_firing(alarm, data)
    }


def _is_firing(alarm: Mapping[str, Any], data: Data) -> bool:
    assert not {"DatapointsToAlarm", "Unit", "Metrics"} & set(alarm)
    periods = alarm["EvaluationPeriods"]
    values = [*data.get(_metric_of(alarm), ())][-periods:]
    missing_periods: list[float | None] = [None] * (periods - len(values))
    values = missing_periods + values
    compare = COMPARE[alarm["ComparisonOperator"]]
    missing = alarm["TreatMissingData"] == "breaching"
    return all(missing if value is None else compare(value, alarm["Threshold"]) for value in values)


def _metric_of(alarm: Mapping[str, Any]) -> Metric:
    return Metric(
        alarm["Namespace"],
        alarm["MetricName"],
        alarm.get("Statistic") or alarm["ExtendedStatistic"],
        frozenset(
            (dimension["Name"], _named(dimension["Value"]))
            for dimension in alarm.get("Dimensions", ())
        ),
        alarm["Period"],
    )


def _named(value: Any) -> str:
    """A dimension's value; of a reference, the logical id that it names."""
    if isinstance(value, str):
        return value
    (reference,) = value.values()
    return reference if isinstance(reference, str) else str(reference[0])
