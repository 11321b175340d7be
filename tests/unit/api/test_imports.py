"""What the functions behind the gateway load before their first request: no more than they need."""

import json
import subprocess
import sys

import pytest

from tests.unit.api.handlers import ROOT

HEAVY = {"openai", "opensearchpy", "numpy", "aws_xray_sdk", "httpx", "jsonschema", "Stemmer"}
LOADED = """
import json, sys
from tests.unit.api.handlers import load
load(sys.argv[1])
print(json.dumps([*sys.modules]))
"""


@pytest.mark.parametrize(
    ("function", "more"),
    [
        ("sessions", {"palimpsest.api.description.documents", "palimpsest.api.memory_routes"}),
        (
            "memories",
            {
                "palimpsest.api.description.documents",
                "palimpsest.api.description.memory_documents",
                "palimpsest.api.routes",
            },
        ),
        ("authorize", set()),
        ("site", {"boto3", "palimpsest.api.routes"}),
    ],
)
def test_a_function_loads_nothing_that_it_does_not_need(function: str, more: set[str]) -> None:
    ran = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", LOADED, function], cwd=ROOT, capture_output=True, check=True, text=True, timeout=60
    )
    assert (HEAVY | more) & set(json.loads(ran.stdout)) == set()
