"""docs/adapters.md names tests that exist, in every row and for every adapter."""

import re
from pathlib import Path

from infra import paths

HERE = Path(__file__).parent
INTEGRATIONS = paths.PROJECT / "layers" / "client" / "python" / "palimpsest_client" / "integrations"
PAGE = (paths.PROJECT / "docs" / "adapters.md").read_text()
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def file_of(name: str) -> Path:
    return HERE / name if name.startswith("of_") else HERE.parent / name


def test_every_cell_of_the_table_is_backed_by_a_test_and_every_test_is_in_it() -> None:
    named = {each for each in NAMED.findall(PAGE) if each[0].startswith("of_")}
    there = {
        (file.name, test)
        for file in HERE.glob("of_*.py")
        for test in re.findall(r"def (test_\w+)\(", file.read_text())
    }
    assert named == there
    adapters = {file.stem for file in INTEGRATIONS.glob("*.py")} - {"__init__"}
    assert adapters == {file.stem.removeprefix("of_") for file in HERE.glob("of_*.py")}


def test_every_row_names_tests_and_each_is_there() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")][2:]
    assert [
        row
        for row in rows
        if not NAMED.search(row.rsplit("|", 2)[1]) or row.count("::") != len(NAMED.findall(row))
    ] == []
    assert [
        f"{name}::{test}"
        for name, test in NAMED.findall(PAGE)
        if f"def {test}(" not in file_of(name).read_text()
    ] == []
