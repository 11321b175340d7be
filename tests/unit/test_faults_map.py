"""docs/faults.md and docs/rules.md name tests that exist, and there is a row for every fault."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCUMENT = (TESTS.parent / "docs" / "faults.md").read_text()
RULES = (TESTS.parent / "docs" / "rules.md").read_text()
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
        check(row[2], row=f"row {row[1]}")


def test_every_rule_names_tests_and_every_test_is_there() -> None:
    rows = [
        line for line in RULES.splitlines() if line.startswith("| ") and "| tests |" not in line
    ]
    assert len(rows) > 25
    for row in rows:
        rule, tests = row.strip("| ").split(" | ")
        check(tests, row=rule)


def check(tests: str, *, row: str) -> None:
    named = NAMED.findall(tests)
    assert len(named) == tests.count("::"), f"{row} names a test that is none"
    assert named, f"{row} names no test"
    missing = [f"{path}::{name}" for path, name in named if name not in named_in(path)]
    assert not missing, f"{row}: {missing}"
