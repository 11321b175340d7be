"""mem0's own client, and calls as its server takes them, work with our address and key."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.stack import PATIENCE, Client
from tests.engines.environments import python_of

pytestmark = pytest.mark.e2e
PROGRAM = Path(__file__).with_name("clients") / "mem0_client.py"


def test_mem0s_own_client_works_with_our_address(call: Client, tmp_path: Path) -> None:
    command: list[str | Path] = [python_of("mem0"), PROGRAM, f"{call.url}/compat/mem0", call.key]
    environment = {"HOME": str(tmp_path), "MEM0_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    saw = json.loads(ran.stdout.splitlines()[-1])
    (added,) = saw["added"]
    assert [result["id"] for result in saw["listed"]["results"]] == [added["id"]]
    assert saw["read"]["memory"] == "Sarah lives in Hamburg."
    assert saw["again"]["memory"] == "Sarah lives in Kiel."
    assert [each["event"] for each in saw["history"]] == ["ADD", "UPDATE"]
    assert [result["memory"] for result in saw["filtered"]["results"]] == ["Sarah owns a house."]
    assert [result["memory"] for result in saw["left"]["results"]] == [
        "Sarah owns a house.",
        "Sarah owns a boat.",
    ]


def test_a_call_with_the_header_of_mem0s_server_is_taken_and_one_without_a_key_is_not(
    call: Client,
) -> None:
    server = Client(call.url, key="")
    whose = {"user_id": "sarah"}
    path = "/compat/mem0/memories"
    assert server("GET", path, headers={"X-API-Key": call.key}, query=whose).json["results"] == []
    refused: tuple[dict[str, str], ...] = (
        {},
        {"X-API-Key": "pal_" + "z" * 43},
        {"Authorization": f"Basic {call.key}"},
    )
    for headers in refused:
        assert server("GET", path, headers=headers, query=whose).status in (401, 403)
    assert server("GET", "/v1/users", headers={"X-API-Key": call.key}).status == 401
