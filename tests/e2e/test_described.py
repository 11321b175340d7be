"""Through the front door, every operation answers its own examples as the description says."""

import subprocess
import sys

import pytest

from infra import paths
from tests.e2e.stack import Client, eventually

pytestmark = pytest.mark.e2e
CONFIG = paths.PROJECT / "tests" / "contract" / "schemathesis.toml"
SEARCH = "/v1/users/sarah/memories/search"


def test_every_answer_to_an_example_is_described(call: Client) -> None:
    call.append("s", "There is nothing to search until something was said.")
    eventually(lambda: call("POST", SEARCH, {"query": "said", "mode": "keyword"}).status == 200)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "--config-file",
            CONFIG,
            "run",
            f"{call.url}/v1/openapi.json",
            "--url",
            call.url,
            "--header",
            f"Authorization: Bearer {call.key}",
            "--phases",
            "examples",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
