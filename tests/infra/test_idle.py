"""What an idle month costs is counted in the template: the results say what the stack has now."""

import json
from typing import Any

import pytest

from benchmarks.cost.idle import EMPTY, FULL, ROUND, Month, month_of
from benchmarks.cost.rounds import Round
from tests.documents.test_figures import IDLE, cell
from tests.infra.conftest import Synthesized, Template

AGAIN = "benchmarks/results.md is older than the stack: make bench ARGS='idle --write', then README and docs/operations.md"
CEILING = 3.50  # US$
FREE = Round(requests=0, read_units=0, cpu_ms=0, clock_ms=0, log_bytes=0)


def round_of(row: str) -> Round:
    """What a round of the sweep took, as the results say."""
    columns = ("requests", "read units", "CPU ms", "clock ms", "bytes of logs")
    return Round(*(cell(ROUND, row, column)() for column in columns))


@pytest.fixture
def months(synthesized: Synthesized, prod_on_tables: Template) -> dict[str, Month]:
    """The stages without a search domain."""
    templates = {"dev": synthesized.dev, "prod": prod_on_tables}
    return {name: month_of(template.body["Resources"]) for name, template in templates.items()}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_results_say_what_the_stack_costs_while_idle(
    months: dict[str, Month], stage: str
) -> None:
    dollars = months[stage].dollars(round_of(EMPTY))
    assert dollars == pytest.approx(cell(IDLE, "all", stage)(), abs=0.005), AGAIN


@pytest.mark.parametrize("row", [EMPTY, FULL])
def test_the_results_say_what_the_rounds_of_the_sweep_cost(
    months: dict[str, Month], row: str
) -> None:
    dollars = months["prod"].parts(round_of(row))["rounds of the sweep"]
    assert dollars == pytest.approx(cell(ROUND, row, "US$ a month")(), abs=0.006), AGAIN


@pytest.mark.parametrize("row", [EMPTY, FULL])
def test_an_idle_month_of_prod_stays_below_its_ceiling_also_with_much_stored(
    months: dict[str, Month], row: str
) -> None:
    assert 0 < months["dev"].dollars(round_of(row)) < months["prod"].dollars(round_of(row))
    assert months["prod"].dollars(round_of(row)) < CEILING


def test_no_dashboard_has_more_metrics_than_are_free(
    months: dict[str, Month], with_domains: Synthesized
) -> None:
    domains = [with_domains.dev, with_domains.prod]
    every = [*months.values(), *(month_of(each.body["Resources"]) for each in domains)]
    assert all(0 < metrics <= 50 for month in every for metrics in month.metrics)


@pytest.mark.parametrize(
    ("schedule", "rounds"),
    [("rate(1 minute)", 43_800), ("rate(5 minutes)", 8_760), ("rate(1 hour)", 730)],
)
def test_rounds_are_counted_by_their_schedule(schedule: str, rounds: int) -> None:
    rule = {"Type": "AWS::Events::Rule", "Properties": {"ScheduleExpression": schedule}}
    assert month_of({"Round": rule}).rounds == rounds


def test_a_round_costs_its_invocation_read_units_processor_and_logs(
    months: dict[str, Month],
) -> None:
    taken = Round(requests=2, read_units=8e6, cpu_ms=100, clock_ms=10, log_bytes=2e9)
    costs = months["prod"].of_a_round(taken)
    assert costs["read units"] == pytest.approx(8 * 0.125)
    assert costs["logs"] == pytest.approx(2 * 0.50, rel=1e-3)
    assert costs["invocation"] == pytest.approx(0.2 / 1e6)
    # a function of 512 MB has 512/1,769 of a processor, and half a GB
    assert costs["GB-seconds"] == pytest.approx(0.1 * 1_769 / 512 * 0.5 * 13.3334 / 1e6, rel=1e-3)


def mapping(*, is_stream: bool = False) -> dict[str, Any]:
    more = {"StartingPosition": "LATEST"} if is_stream else {}
    return {"Type": "AWS::Lambda::EventSourceMapping", "Properties": more}


def test_streams_free_alarms_and_small_dashboards_cost_nothing() -> None:
    metrics = [["AWS/Lambda", f"m{number}"] for number in range(50)] + [[{"expression": "m1 / m2"}]]
    body = json.dumps({"widgets": [{"properties": {"metrics": metrics}}, {"type": "text"}]})
    dashboard = {
        "Type": "AWS::CloudWatch::Dashboard",
        "Properties": {"DashboardBody": {"Fn::Join": ["", [body]]}},
    }
    alarms = {f"Alarm{number}": {"Type": "AWS::CloudWatch::Alarm"} for number in range(10)}
    month = month_of(
        {"Dashboard": dashboard, "Stream": mapping(is_stream=True), "Queue": mapping(), **alarms}
    )
    assert (month.metrics, month.alarms, month.queues, month.dollars(FREE)) == ((50,), 10, 1, 0)
    seven = month_of({f"Queue{number}": mapping() for number in range(7)})
    assert seven.parts(FREE)["polling of queues"] == pytest.approx(
        (7 * 657_000 - 1_000_000) * 0.4 / 1e6
    )
