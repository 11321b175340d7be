"""What a month of refused calls costs, when they come as fast as the gateway lets them."""

from __future__ import annotations

import re
from io import StringIO
from math import ceil
from typing import Any

import pytest
from palimpsest.models.catalogue import AWS_PRICES
from palimpsest.observability import logger

from benchmarks.cost.operations import LOG_GB, PLATFORM_LINES
from tests.infra.conftest import Template
from tests.unit.api.test_authorize import Authorizing

MONTH = 30 * 24 * 3600  # seconds
CHECKED, ANSWERED = 0.01, 0.05
"""The seconds in which the authorizer looks a key up, and in which a larger function answers a
refused call with a problem, before it reads anything.
"""
VARIABLE = "x" * 40  # no variable of the access log is longer in a refused call


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> int:
    """The bytes that the authorizer logs of a refused call."""
    log = StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", log)
    Authorizing(monkeypatch)("Bearer pal_" + "z" * 43)
    return len(log.getvalue().encode())


def settings_of(prod: Template) -> dict[str, Any]:
    (stage,) = prod.of_type("AWS::ApiGatewayV2::Stage").values()
    return stage


def in_gateway(prod: Template) -> float:
    """The dollars of the gateway and its access log for a call."""
    line = re.sub(r"\$context[\w.]+", VARIABLE, settings_of(prod)["AccessLogSettings"]["Format"])
    request = float(AWS_PRICES["http_api_requests"])
    return request / 1e6 + len(line) * LOG_GB / 1e9


def in_function(prod: Template, name: str, *, seconds: float, logged: int) -> float:
    """The dollars of a call of a function, with its logs."""
    gigabytes = float(prod.functions()[name]["MemorySize"]) / 1024
    computed = AWS_PRICES["lambda_requests"] + gigabytes * seconds * AWS_PRICES["lambda_gb_seconds"]
    return computed / 1e6 + (logged + PLATFORM_LINES) * LOG_GB / 1e9


def month(prod: Template, *, processes: int, logged: int) -> float:
    """The dollars of a month, if so many processes of the authorizer answer their refusals each
    minute.
    """
    rate = float(settings_of(prod)["DefaultRouteSettings"]["ThrottlingRateLimit"])
    variables = prod.functions()["authorize"]["Environment"]["Variables"]
    answered = processes * int(variables["REFUSALS_ANSWERED"]) * MONTH / 60
    assert answered <= rate * MONTH
    looked_up = AWS_PRICES["dynamodb_reads"] / 1e6  # a key that has the form of one
    checked = in_function(prod, "authorize", seconds=CHECKED, logged=logged) + looked_up
    larger = max(
        in_function(prod, name, seconds=ANSWERED, logged=2 * logged)
        for name in ("sessions", "memories")
    )
    return rate * MONTH * (in_gateway(prod) + checked) + answered * larger


def test_a_month_of_refused_calls_at_the_full_rate_costs_under_600_dollars_with_logs(
    prod: Template, logged: int
) -> None:
    """They come evenly, so the gateway needs few processes of the authorizer."""
    rate = settings_of(prod)["DefaultRouteSettings"]["ThrottlingRateLimit"]
    processes = 2 * ceil(rate * CHECKED)
    gateway = rate * MONTH * AWS_PRICES["http_api_requests"] / 1e6
    assert gateway < month(prod, processes=processes, logged=logged) < 600


def test_a_month_of_bursts_that_reach_every_process_of_the_authorizer_costs_under_1000_dollars(
    prod: Template, logged: int
) -> None:
    """Each burst is as large as the gateway lets it be, and needs a process for each call."""
    burst = settings_of(prod)["DefaultRouteSettings"]["ThrottlingBurstLimit"]
    assert month(prod, processes=burst, logged=logged) < 1_000
