"""docs/faults.md names tests that exist, and has a row for every fault that conversations can meet."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCUMENT = (TESTS.parent / "docs" / "faults.md").read_text()
ROW = re.compile(r"^\| (\d+) \|[^|]+\|[^|]+\|([^|]+)\|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
OF_CONVERSATIONS = {*range(1, 17), 20, *range(22, 31), 32, 33, *range(36, 39), 41, 42, 44, 46, 47}

OF_THE_INDEX = {8, 19, 21, 49}


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests that stand at the top of a file: functions, classes, and names given to state machines."""
    names: set[str] = set()
    for node in ast.parse((TESTS / path).read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return frozenset(name for name in names if name.lower().startswith("test"))


def test_every_fault_of_conversations_and_of_the_index_has_its_row_once() -> None:
    numbers = [int(row[1]) for row in ROW.finditer(DOCUMENT)]
    assert numbers == sorted(set(numbers))
    assert set(numbers) >= OF_CONVERSATIONS | OF_THE_INDEX


def test_every_row_names_tests_and_every_test_is_there() -> None:
    for row in ROW.finditer(DOCUMENT):
        named = NAMED.findall(row[2])
        assert len(named) == row[2].count("::"), f"row {row[1]} names a test that is none"
        assert named, f"row {row[1]} names no test"
        missing = [f"{path}::{name}" for path, name in named if name not in named_in(path)]
        assert not missing, f"row {row[1]}: {missing}"
