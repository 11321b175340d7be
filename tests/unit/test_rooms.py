"""A file's name says what it holds: a package's `__init__` holds nothing but its docstring and its
exports.
"""

import ast
from pathlib import Path

import palimpsest
import pytest

LIBRARY = Path(palimpsest.__file__).parent
DOORS = {"__init__.py": {"_HOMES", "__all__", "__getattr__"}}
"""The packages that people outside import from, and the names that make their exports."""
PACKAGES = sorted(str(path.relative_to(LIBRARY)) for path in LIBRARY.rglob("__init__.py"))


def defined_in(tree: ast.Module) -> set[str]:
    """The names that a module defines. A statement that defines none counts under its type."""
    names: set[str] = set()
    for node in tree.body[1:]:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case ast.Import() | ast.ImportFrom():
                pass
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case _:
                names.add(type(node).__name__)
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_holds_its_docstring_and_exports_only(package: str) -> None:
    tree = ast.parse((LIBRARY / package).read_text())
    assert ast.get_docstring(tree)
    assert defined_in(tree) == DOORS.get(package, set())
    if package not in DOORS:
        assert len(tree.body) == 1, "a package that is no door imports nothing"
