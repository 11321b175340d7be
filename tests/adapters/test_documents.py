"""docs/adapters.md names tests that exist, for every adapter."""

import re
from pathlib import Path

from infra import paths

HERE = Path(__file__).parent
INTEGRATIONS = paths.PROJECT / "layers" / "client" / "python" / "palimpsest_client" / "integrations"


def test_every_cell_of_the_table_is_backed_by_a_test_and_every_test_is_in_it() -> None:
    named = set(re.findall(r"`(of_\w+\.py)::(\w+)`", (paths.PROJECT / "docs" / "adapters.md").read_text()))
    there = {
        (file.name, test) for file in HERE.glob("of_*.py") for test in re.findall(r"def (test_\w+)\(", file.read_text())
    }
    assert named == there
    adapters = {file.stem for file in INTEGRATIONS.glob("*.py")} - {"__init__"}
    assert adapters == {file.stem.removeprefix("of_") for file in HERE.glob("of_*.py")}
