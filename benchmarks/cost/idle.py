"""The cost of an idle month. It counts the parts of the template that are billed whether or not
they are used.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from palimpsest.engines.dynamodb.lists import SHORT_LIST
from palimpsest.models.catalogue import AWS_AS_OF, AWS_PRICES

from benchmarks.beside.environments import environment, printed
from benchmarks.cost.operations import LOG_GB, PLATFORM_LINES, WHOLE_CPU
from benchmarks.cost.rounds import Round
from benchmarks.report import Cell, Table
from benchmarks.service import Place
from infra.app import use_bundled_node
from tests.contract.tables import memories_table, sessions_table, tenants_table

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
PARTITIONS = 4
"""The number of partitions with which DynamoDB creates an on-demand table, by its 4,000 writes a
second. A request that reads a whole index is counted as half a unit for each of them, at least.
"""
UNIT_OF = {"minute": 60, "hour": 3_600, "day": 86_400}  # seconds
SECONDS, TIMES = 300, 30
QUEUES = ("SUMMARIZE", "EXTRACT", "SWEEP", "REINDEX", "EMBED")
ROUND, EMPTY, FULL = (
    "A round of the sweep",
    "nothing stored",
    f"over {SHORT_LIST} things wait in each list",
)
COLUMNS = (
    "while",
    "requests",
    "read units",
    "CPU ms",
    "clock ms",
    "bytes of logs",
    "US$ invocations",
    "US$ read units",
    "US$ GB-seconds",
    "US$ logs",
    "US$ a month",
)
Resources = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Month:
    """The billed parts of a stage: metrics on each dashboard, alarms, keys, polled queues, and
    rounds of the sweep, whose function has `memory_mb`.
    """

    metrics: tuple[int, ...]
    alarms: int
    keys: int
    queues: int
    rounds: float
    memory_mb: int

    def parts(self, of: Round) -> dict[str, float]:
        """Return the US dollars for a month, by part, if each round of the sweep takes that."""
        polls = max(0, self.queues * POLLERS * POLLS_A_MINUTE * 60 * HOURS - FREE_POLLS)
        return {
            "dashboard": DASHBOARD * sum(metric > FREE_METRICS for metric in self.metrics),
            "alarms": ALARM * max(0, self.alarms - FREE_ALARMS),
            "encryption key": KEY * self.keys,
            "polling of queues": polls * AWS_PRICES["sqs_requests"] / 1e6,
            "rounds of the sweep": self.rounds * sum(self.of_a_round(of).values()),
        }

    def of_a_round(self, of: Round) -> dict[str, float]:
        """Return the US dollars for a round, by part."""
        logged = of.log_bytes + PLATFORM_LINES
        return {
            "invocation": AWS_PRICES["lambda_requests"] / 1e6,
            "read units": of.read_units * AWS_PRICES["dynamodb_reads"] / 1e6,
            "GB-seconds": self.gigabyte_seconds(of) * AWS_PRICES["lambda_gb_seconds"] / 1e6,
            "logs": logged / 1e9 * LOG_GB,
        }

    def gigabyte_seconds(self, of: Round) -> float:
        """Return the GB-seconds of a round, from the CPU that it used here at the function's share
        of a whole one, or from the clock if that is longer.
        """
        if not self.memory_mb:
            return 0.0
        busy = max(of.cpu_ms * max(1.0, WHOLE_CPU / self.memory_mb), of.clock_ms)
        return busy / 1e3 * self.memory_mb / 1024

    def dollars(self, of: Round) -> float:
        return sum(self.parts(of).values())


def month_of(resources: Resources) -> Month:
    """Count the parts in a template."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for resource in resources.values():
        kinds.setdefault(resource["Type"], []).append(resource.get("Properties", {}))
    mappings = kinds.get("AWS::Lambda::EventSourceMapping", [])
    rules = [rule for rule in kinds.get("AWS::Events::Rule", []) if "ScheduleExpression" in rule]
    sweep = resources.get("SweepFunction", {"Properties": {"MemorySize": 0}})
    return Month(
        metrics=tuple(
            _metrics(dashboard["DashboardBody"])
            for dashboard in kinds.get("AWS::CloudWatch::Dashboard", [])
        ),
        alarms=sum(_metrics_of_alarm(alarm) for alarm in kinds.get("AWS::CloudWatch::Alarm", [])),
        keys=len(kinds.get("AWS::KMS::Key", [])),
        queues=sum("StartingPosition" not in mapping for mapping in mappings),
        rounds=sum(_rounds(rule["ScheduleExpression"]) for rule in rules),
        memory_mb=sweep["Properties"]["MemorySize"],
    )


def _rounds(schedule: str) -> float:
    """Return how often a schedule such as `rate(5 minutes)` starts its target in a month."""
    rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", schedule)
    if rate is None:
        raise ValueError(f"The cost of the schedule {schedule} is not known.")
    return HOURS * 3_600 / (int(rate[1]) * UNIT_OF[rate[2]])


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


def measured(endpoint: str, env: Mapping[str, str], *, waiting: int, times: int = TIMES) -> Round:
    """Return what a round of the sweep takes that finds nothing due, as the median of so many
    times, while so many items wait in the list of each table. `endpoint` is that of the database
    engine, and `env` are the other variables of the environment.
    """
    names = {
        "SESSIONS_TABLE": sessions_table(endpoint),
        "MEMORIES_TABLE": memories_table(endpoint),
        "TENANTS_TABLE": tenants_table(endpoint),
    }
    # nothing is due, so nothing is sent
    queues = {f"{name}_QUEUE_URL": "http://127.0.0.1:9/none" for name in QUEUES}
    module, counts = "benchmarks.cost.rounds", (str(waiting), str(times))
    return Round(**printed(module, *counts, env={**env, **names, **queues}, seconds=SECONDS))


def on_aws(here: Round) -> Round:
    """Return a round that found nothing stored, with the units of a table's other partitions."""
    return replace(here, read_units=here.read_units + here.requests * (PARTITIONS - 1) / 2)


def tables(place: Place) -> list[Table]:
    with tempfile.TemporaryDirectory() as folder:
        months = {stage: month_of(counts) for stage, counts in templates(Path(folder)).items()}
    env = environment(place)
    empty = on_aws(measured(place.endpoint, env, waiting=0))
    full = measured(place.endpoint, env, waiting=SHORT_LIST + 1)
    parts = {stage: month.parts(empty) for stage, month in months.items()}
    rows: list[list[Cell]] = [
        [name, *(f"{parts[stage][name]:.2f}" for stage in STAGES)] for name in parts["prod"]
    ]
    rows.append(["all", *(f"{months[stage].dollars(empty):.2f}" for stage in STAGES)])
    month = Table("An idle month", ["US$", *STAGES], rows, list(_notes(months["prod"])))
    return [month, _of_rounds(months["prod"], empty, full)]


def _of_rounds(month: Month, empty: Round, full: Round) -> Table:
    named = {EMPTY: empty, FULL: full}
    rows: list[list[Cell]] = [
        [
            name,
            f"{taken.requests:.0f}",
            f"{taken.read_units:.1f}",
            f"{taken.cpu_ms:.1f}",
            f"{taken.clock_ms:.1f}",
            f"{taken.log_bytes:.0f}",
            *(f"{month.rounds * cost:.3f}" for cost in month.of_a_round(taken).values()),
            f"{month.parts(taken)['rounds of the sweep']:.2f}",
        ]
        for name, taken in named.items()
    ]
    return Table(ROUND, COLUMNS, rows, list(_notes_of_rounds(month)))


def _notes_of_rounds(month: Month) -> Iterator[str]:
    yield (
        "Counted while the function's handler ran on tables of a local engine (dynoxide), as medians. "
        "US$ a month are those of all rounds."
    )
    yield (
        f"A list of at most {SHORT_LIST} sessions, users, memories and jobs that wait for their time is "
        f"read as a whole, from {PARTITIONS} partitions, for half a unit each at least. Of a longer "
        "list, each shard is queried. The first row is a part of the idle month above."
    )
    yield (
        "GB-seconds are estimated, from the CPU used here at the function's share of a whole one "
        f"({month.memory_mb} of {WHOLE_CPU:,} MB). Logs: the function's line, and {PLATFORM_LINES} "
        "bytes of Lambda's own lines."
    )


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
        " month are free. The sweep runs every minute; a table of its own has its parts."
    )
    yield (
        f"List prices of us-east-1 of {AWS_AS_OF}; not measured on AWS. Without a search domain, what "
        "is stored, and uses of the key."
    )
