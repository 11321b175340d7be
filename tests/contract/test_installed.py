"""The library as others install it: a wheel, in an environment that holds nothing else but what it
declares.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from layers.testing.suite import PARTS

ROOT = Path(__file__).parents[2]
PROGRAM = """
from palimpsest import AgentMemory
memory = AgentMemory(user="sarah")
memory.append("monday", "I live in Hamburg.")
memory.end("monday")
print(memory.recall("Where do I live?")["memories"][0]["content"])
"""
DESCRIPTION = """
import json
from palimpsest.api.site import openapi
print(json.loads(openapi())["openapi"][:3])
"""


def test_the_built_wheel_runs_in_an_environment_of_its_own(tmp_path: Path) -> None:
    def run(*command: str | Path, **more: str) -> str:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "TIKTOKEN"))
        }
        done = subprocess.run(  # noqa: S603 - our own commands
            command,
            cwd=tmp_path,
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    uv = Path(sys.executable).parent / "uv"
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
        ROOT,
    )
    (wheel,) = tmp_path.glob("palimpsest-*.whl")
    with zipfile.ZipFile(wheel) as built:
        names = set(built.namelist())
        points = next(name for name in names if name.endswith("entry_points.txt"))
        assert "palimpsest = palimpsest_testing.plugin" in built.read(points).decode()
    assert {
        f"palimpsest_testing/{part}.py" for part in (*PARTS, "plugin", "conftest", "store")
    } <= names
    assert "palimpsest_description/openapi.json" in names
    run(uv, "venv", "--quiet", "--python", sys.executable, "clean")
    run(uv, "pip", "install", "--quiet", "--python", tmp_path / "clean" / "bin" / "python", wheel)
    proxies = dict.fromkeys(
        ("http_proxy", "https_proxy"), "http://127.0.0.1:9"
    )  # the tables are there: no download
    assert (
        run(tmp_path / "clean" / "bin" / "python", "-c", PROGRAM, **proxies)
        == "I live in Hamburg.\n"
    )
    assert run(tmp_path / "clean" / "bin" / "python", "-c", DESCRIPTION) == "3.1\n"
