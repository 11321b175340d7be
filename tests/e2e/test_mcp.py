"""The official MCP clients, in Python and in TypeScript, use a user's memory in both eras of the
protocol.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from palimpsest.api.mcp import tools as mcp_tools

from tests.e2e.stack import PATIENCE, Client
from tests.engines import npm
from tests.engines.environments import python_of

pytestmark = pytest.mark.e2e
PROGRAMS = Path(__file__).with_name("clients")
SDK = npm.NODE_MODULES / "@modelcontextprotocol" / "client"


def python_command(_: Path) -> list[str | Path]:
    return [python_of("mcp"), PROGRAMS / "mcp_client.py"]


def node_command(folder: Path) -> list[str | Path]:
    if not SDK.is_dir():
        reason = "the MCP client of TypeScript is not installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    (folder / "node_modules").symlink_to(npm.NODE_MODULES)
    return [npm.NODE, shutil.copy(PROGRAMS / "mcp_client.mjs", folder)]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("program", [python_command, node_command])
def test_an_official_client_uses_the_memory(
    program: Any, mode: str, call: Client, tmp_path: Path
) -> None:
    url = f"{call.url}/v1/users/sarah/mcp"
    ran = subprocess.run(
        [*program(tmp_path), url, call.key, mode],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    saw = json.loads(ran.stdout)
    assert saw["tools"] == [*mcp_tools.TOOLS]
    (memory,) = saw["saved"]["data"]["memories"]
    assert memory["content"] == f"Sarah tested {mode}."
    assert [each["id"] for each in saw["listed"]["data"]["memories"]] == [memory["id"]]
    assert memory["id"] in saw["listed"]["text"]
    assert (saw["wrong"]["is_error"], "query: is required" in saw["wrong"]["text"]) == (True, True)
