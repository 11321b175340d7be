"""docs/faults.md names tests that exist, and has a row for every fault."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCUMENT = (TESTS.parent / "docs" / "faults.md").read_text()
ROW = re.compile(r"^\| (\d+) \|[^|]+\|[^|]+\|([^|]+)\|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
FAULTS = [*range(1, 79), *range(83, 86), *range(91, 109)]
"""The others come with what they are about."""


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests that stand at the top of a file: functions, classes, and names given to state
    machines.
    """
    names: set[str] = set()
    for node in ast.parse((TESTS / path).read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return frozenset(name for name in names if name.lower().startswith("test"))


def test_every_fault_has_its_row_once_and_in_order() -> None:
    assert [int(row[1]) for row in ROW.finditer(DOCUMENT)] == FAULTS


def test_every_row_names_tests_and_every_test_is_there() -> None:
    for row in ROW.finditer(DOCUMENT):
        named = NAMED.findall(row[2])
        assert len(named) == row[2].count("::"), f"row {row[1]} names a test that is none"
        assert named, f"row {row[1]} names no test"
        missing = [f"{path}::{name}" for path, name in named if name not in named_in(path)]
        assert not missing, f"row {row[1]}: {missing}"
