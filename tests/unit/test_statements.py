"""What a reader takes in at once: no comprehension within another, one conditional expression in a
statement, one class for a name, and variables that are named after what they hold.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import palimpsest
import pytest

LIBRARY = Path(palimpsest.__file__).parent
REPOSITORY = Path(__file__).parents[2]
PARTS = ("layers", "functions", "infra")
VAGUE = frozenset({"each", "one", "found", "said", "asked", "given", "told"})
MOST_VAGUE = {
    "layers": 12, "functions": 0, "infra": 0, "benchmarks": 2, "examples": 0, "tests": 10,
}  # fmt: skip
"""How many variables still have a vague name, by part. A new one takes the name of what it holds,
so these numbers only fall. Of the tests, only their helpers count.
"""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def modules(part: Path) -> list[Path]:
    return sorted(path for path in part.rglob("*.py") if "node_modules" not in path.parts)


def expressions_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """All expressions of a statement, without those of the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        inner = [
            node for node in ast.iter_child_nodes(waiting.pop()) if not isinstance(node, ast.stmt)
        ]
        yield from inner
        waiting += inner


def nested_comprehensions(tree: ast.AST) -> list[int]:
    """The lines of comprehensions that hold another one."""
    outer = [node for node in ast.walk(tree) if isinstance(node, COMPREHENSIONS)]
    return [
        node.lineno
        for node in outer
        if sum(isinstance(inner, COMPREHENSIONS) for inner in ast.walk(node)) > 1
    ]


def doubly_conditional(tree: ast.AST) -> list[int]:
    """The lines of statements with more than one conditional expression."""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return [
        node.lineno
        for node in statements
        if sum(isinstance(inner, ast.IfExp) for inner in expressions_of(node)) > 1
    ]


def vaguely_named(tree: ast.AST) -> list[int]:
    """The lines that bind a variable to a name that says nothing about it. Names of functions and
    of keyword arguments in calls are no such bindings.
    """
    nodes = list(ast.walk(tree))
    stored = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Name) and node.id in VAGUE and isinstance(node.ctx, ast.Store)
    ]
    parameters = [node.lineno for node in nodes if isinstance(node, ast.arg) and node.arg in VAGUE]
    return sorted([*stored, *parameters])


def test_the_checks_find_what_they_look_for() -> None:
    nested = ast.parse("rows = [[cell for cell in row] for row in table]")
    double = ast.parse("def f():\n    return (a if b else c, d if e else f)")
    single = ast.parse("a = b if c else d\ne = [f for f in g if h]")
    assert (nested_comprehensions(nested), doubly_conditional(double)) == ([1], [2])
    assert (nested_comprehensions(single), doubly_conditional(single)) == ([], [])
    vague = ast.parse("found = {}\ndef said(asked):\n    return [each for each in asked if found]")
    assert vaguely_named(vague) == [1, 2, 3]


@pytest.mark.parametrize("part", PARTS)
def test_no_comprehension_holds_another(part: str) -> None:
    found = {
        str(path): lines
        for path in modules(REPOSITORY / part)
        if (lines := nested_comprehensions(ast.parse(path.read_text())))
    }
    assert found == {}


@pytest.mark.parametrize("part", PARTS)
def test_a_statement_has_one_conditional_expression_at_most(part: str) -> None:
    found = {
        str(path): lines
        for path in modules(REPOSITORY / part)
        if (lines := doubly_conditional(ast.parse(path.read_text())))
    }
    assert found == {}


def test_a_class_name_stands_once_in_the_library() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in modules(LIBRARY):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(LIBRARY)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


@pytest.mark.parametrize(("part", "most"), MOST_VAGUE.items())
def test_variables_are_named_after_what_they_hold(part: str, most: int) -> None:
    helpers = [path for path in modules(REPOSITORY / part) if not path.name.startswith("test_")]
    vague = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in helpers
        for line in vaguely_named(ast.parse(path.read_text()))
    ]
    assert len(vague) <= most, vague
