"""What an idle month costs is counted in the template: the results say what the stack has now."""

import json
from typing import Any

import pytest

from benchmarks.cost.idle import month_of
from tests.documents.test_figures import IDLE, cell
from tests.infra.conftest import Synthesized, Template

AGAIN = "benchmarks/results.md is older than the stack: make bench ARGS='idle --write', then README and docs/operations.md"


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_results_say_what_the_stack_costs_while_idle(
    synthesized: Synthesized, prod_on_tables: Template, stage: str
) -> None:
    template = {"dev": synthesized.dev, "prod": prod_on_tables}[stage]
    month = month_of(template.body["Resources"])
    assert month.dollars == pytest.approx(cell(IDLE, "all", stage)(), abs=0.005), AGAIN


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
    assert (month.metrics, month.alarms, month.queues, month.dollars) == ((50,), 10, 1, 0)
    seven = month_of({f"Queue{number}": mapping() for number in range(7)})
    assert seven.parts["polling of queues"] == pytest.approx((7 * 657_000 - 1_000_000) * 0.4 / 1e6)
