"""The client on a fresh machine: the built wheel, in an environment that holds nothing else but
what it declares.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra import paths
from tests.e2e.stack import Client

pytestmark = pytest.mark.e2e
CLIENT = paths.LAYERS / "client"
MOST_BYTES = 6_000_000
LOADED = "import palimpsest_client, sys; print(*{name.partition('.')[0] for name in sys.modules})"
UNUSED = {"typer", "rich", "openai", "langchain", "pydantic", "sqlite3", "unittest"}
"""Modules that an import of the client must not load. They cost as much time as the client."""


def test_ten_lines_remember_a_fact_across_two_sessions_with_nothing_but_the_wheel(
    call: Client, tmp_path: Path
) -> None:
    machine = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("PYTHON", "PALIMPSEST"))
    }

    def run(*command: str | Path, **environment: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=machine | environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    program = re.findall(
        r"^```python\n(.*?)^```$", (CLIENT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )[0]
    assert len([line for line in program.splitlines() if line]) <= 10
    shutil.copytree(CLIENT, source := tmp_path / "client")
    uv, python = Path(sys.executable).parent / "uv", tmp_path / "clean" / "bin" / "python"
    run(
        uv,
        "build",
        "--quiet",
        "--wheel",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "--out-dir",
        tmp_path,
        source,
    )
    (wheel,) = tmp_path.glob("palimpsest_memory-*.whl")
    run(uv, "venv", "--quiet", "--python", sys.executable, "clean")
    run(uv, "pip", "install", "--quiet", "--python", python, wheel)
    told = run(python, "-c", program, PALIMPSEST_URL=call.url, PALIMPSEST_API_KEY=call.key)
    assert "I live in Hamburg." in told
    listed = run(uv, "pip", "list", "--python", python)
    assert {"boto3", "pydantic", "palimpsest "} & {
        line.partition(" ")[0] for line in listed.splitlines()
    } == set()
    (packages,) = python.parents[1].glob("lib/*/site-packages")
    assert (packages / "palimpsest_client" / "py.typed").exists()
    bytes_of_code = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file())
    assert bytes_of_code < MOST_BYTES  # with the bytecode that the program's imports wrote
    loaded = set(run(python, "-c", LOADED).split())
    assert {"palimpsest_client", "httpx2"} <= loaded
    assert not loaded & UNUSED
