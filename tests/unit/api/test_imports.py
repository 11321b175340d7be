"""What the functions behind the gateway load before their first request: no more than they need."""

import json
import subprocess
import sys
from typing import get_args

import pytest
from palimpsest.api.operations import RESOURCES as MODULES
from palimpsest.api.operations import Function, operations_of

from tests.unit.api.handlers import ROOT

HEAVY = {"openai", "opensearchpy", "numpy", "aws_xray_sdk", "httpx", "jsonschema", "Stemmer"}
LOADED = """
import json, sys
from tests.unit.api.handlers import load
load(sys.argv[1])
print(json.dumps([*sys.modules]))
"""


OF_SESSIONS, OF_MEMORIES = (
    {f"palimpsest.api.{name}" for name in MODULES[each]} for each in ("sessions", "memories")
)
EXTRACTS = {"palimpsest.extraction.commit", "palimpsest.extraction.testimony"}
JOBS = {"palimpsest.api.resources.jobs"}  # whose documents other operations answer, too


@pytest.mark.parametrize(
    ("function", "more"),
    [
        ("sessions", {"palimpsest_description", *EXTRACTS, *(OF_MEMORIES - OF_SESSIONS)}),
        ("memories", {"palimpsest_description", *(OF_SESSIONS - OF_MEMORIES - JOBS)}),
        ("authorize", {"palimpsest.api.operations", "palimpsest.api.resources"}),
        ("site", {"boto3", "aws_lambda_powertools.event_handler", "palimpsest.api.resources"}),
    ],
)
def test_a_function_loads_nothing_that_it_does_not_need(function: str, more: set[str]) -> None:
    ran = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", LOADED, function],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    assert (HEAVY | more) & set(json.loads(ran.stdout)) == set()


def test_a_function_lists_the_modules_of_its_own_operations_and_no_others() -> None:
    functions: tuple[Function, ...] = get_args(Function)
    for function in functions:
        own = {
            each.handler.__module__.removeprefix("palimpsest.api.")
            for each in operations_of(function)
        }
        assert own == set(MODULES[function])
