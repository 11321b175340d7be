"""What a reader takes in at once: no comprehension within another, one conditional expression in a
statement, and one class for a name.
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


def test_the_checks_find_what_they_look_for() -> None:
    nested = ast.parse("rows = [[cell for cell in row] for row in table]")
    double = ast.parse("def f():\n    return (a if b else c, d if e else f)")
    single = ast.parse("a = b if c else d\ne = [f for f in g if h]")
    assert (nested_comprehensions(nested), doubly_conditional(double)) == ([1], [2])
    assert (nested_comprehensions(single), doubly_conditional(single)) == ([], [])


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
