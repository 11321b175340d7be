"""The cost of an idle month. It counts the parts of the template that are billed whether or not
they are used.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.models.catalogue import AWS_AS_OF, AWS_PRICES

from benchmarks.report import Table
from infra.app import use_bundled_node

STAGES = ("dev", "prod")
HOURS = 730
POLLERS, POLLS_A_MINUTE = 5, 3
"""The number of Lambda's pollers for a queue, and of their polls. They wait side by side, for 20 s
each time.
"""
FREE_POLLS = 1_000_000
FREE_METRICS, DASHBOARD = 50, 3.00  # US$ a month for a dashboard with more metrics
FREE_ALARMS, ALARM = 10, 0.10
KEY = 1.00
SHARDS = (
    64  # of the index `due`: the sweep reads each once a minute, for half a unit while it is empty
)
Resources = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Month:
    """The billed parts of a stage: metrics on each dashboard, alarms, keys, polled queues, and
    rounds of the sweep.
    """

    metrics: tuple[int, ...]
    alarms: int
    keys: int
    queues: int
    rounds: int

    @property
    def parts(self) -> dict[str, float]:
        """Return the US dollars for a month, by part."""
        polls = max(0, self.queues * POLLERS * POLLS_A_MINUTE * 60 * HOURS - FREE_POLLS)
        reads = AWS_PRICES["lambda_requests"] + SHARDS / 2 * AWS_PRICES["dynamodb_reads"]
        return {
            "dashboard": DASHBOARD * sum(metric > FREE_METRICS for metric in self.metrics),
            "alarms": ALARM * max(0, self.alarms - FREE_ALARMS),
            "encryption key": KEY * self.keys,
            "polling of queues": polls * AWS_PRICES["sqs_requests"] / 1e6,
            "rounds of the sweep": self.rounds * reads / 1e6,
        }

    @property
    def dollars(self) -> float:
        return sum(self.parts.values())


def month_of(resources: Resources) -> Month:
    """Count the parts in a template."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for resource in resources.values():
        kinds.setdefault(resource["Type"], []).append(resource.get("Properties", {}))
    mappings = kinds.get("AWS::Lambda::EventSourceMapping", [])
    rules = [
        rule
        for rule in kinds.get("AWS::Events::Rule", [])
        if rule.get("ScheduleExpression") == "rate(1 minute)"
    ]
    return Month(
        metrics=tuple(
            _metrics(dashboard["DashboardBody"])
            for dashboard in kinds.get("AWS::CloudWatch::Dashboard", [])
        ),
        alarms=sum(_metrics_of_alarm(alarm) for alarm in kinds.get("AWS::CloudWatch::Alarm", [])),
        keys=len(kinds.get("AWS::KMS::Key", [])),
        queues=sum("StartingPosition" not in mapping for mapping in mappings),
        rounds=len(rules) * 60 * HOURS,
    )


def _metrics(body: Any) -> int:
    """Return the metrics of a dashboard's widgets. References in its text are replaced by a
    letter.
    """
    text = (
        body
        if isinstance(body, str)
        else "".join(part if isinstance(part, str) else "x" for part in body["Fn::Join"][1])
    )
    widgets = json.loads(text)["widgets"]
    named = [line for widget in widgets for line in widget.get("properties", {}).get("metrics", ())]
    return sum(isinstance(line[0], str) for line in named)  # the others are computed from these


def _metrics_of_alarm(alarm: Mapping[str, Any]) -> int:
    return sum("MetricStat" in query for query in alarm.get("Metrics", ())) or 1


def templates(folder: Path) -> dict[str, Resources]:
    """Return the templates of the stages, without a search domain, as they are synthesized."""
    use_bundled_node()
    from infra.app import application
    from infra.local.deploy import IN_PLACE

    application(folder, **IN_PLACE, stage=",".join(STAGES), search="dynamodb").synth()
    return {
        stage: json.loads((folder / f"Palimpsest-{stage}.template.json").read_text())["Resources"]
        for stage in STAGES
    }


def table() -> Table:
    with tempfile.TemporaryDirectory() as folder:
        months = {stage: month_of(counts) for stage, counts in templates(Path(folder)).items()}
    parts = {stage: month.parts for stage, month in months.items()}
    rows = [[name, *(f"{parts[stage][name]:.2f}" for stage in STAGES)] for name in parts["prod"]]
    rows.append(["all", *(f"{months[stage].dollars:.2f}" for stage in STAGES)])
    return Table("An idle month", ["US$", *STAGES], rows, list(_notes(months["prod"])))


def _notes(month: Month) -> Iterator[str]:
    yield (
        f"Counted in the synthesized template: a dashboard of {max(month.metrics)} metrics "
        f"({FREE_METRICS} are free),"
        f" {month.alarms} alarms ({FREE_ALARMS} are free), {month.queues} queues that functions "
        f"poll."
    )
    yield (
        f"An empty queue is asked by {POLLERS} pollers, each {POLLS_A_MINUTE} times a minute; a "
        f"million requests a"
        " month are free. The sweep reads what is due every minute."
    )
    yield f"List prices of us-east-1 of {AWS_AS_OF}; not measured on AWS. Without a search domain and what is stored."
