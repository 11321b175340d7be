"""The client says what the service's description says: types, errors, and calls that exist."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from palimpsest_client import errors, sessions, tenants, users
from palimpsest_client import types as shipped

from layers.client import write_types
from tests.contract.client.conftest import ROOT

DESCRIPTION: dict[str, Any] = json.loads(write_types.DESCRIPTION.read_text())
SERVICE = ROOT / "layers" / "core" / "python" / "palimpsest"
GRAPH = ROOT / "layers" / "graph" / "python" / "palimpsest_graph"
NEVER_ANSWERED = {"damaged_job", "newer_job", "not_in_memory_store", "two_stores"}
"""Codes that jobs have, that problems hide, or that the library alone raises."""


def fields_of(module: str) -> dict[tuple[str, str], str]:
    """The annotation of every field of every type, by type and field."""
    found: dict[tuple[str, str], str] = {}
    for node in ast.parse(module).body:
        match node:
            case ast.ClassDef(name=name, body=body):
                for field in body:
                    assert isinstance(field, ast.AnnAssign)
                    found[name, ast.unparse(field.target)] = ast.unparse(field.annotation)
            case ast.Assign(
                value=ast.Call(
                    args=[ast.Constant(value=str(name)), ast.Dict(keys=keys, values=values)]
                )
            ):
                for key, annotation in zip(keys, values, strict=True):
                    assert isinstance(key, ast.Constant)
                    found[name, str(key.value)] = ast.unparse(annotation)
    return found


def test_every_field_of_a_type_is_what_the_description_says() -> None:
    """A field, or a value of one, that the service has learned since breaks no client: it is found
    when one looks.
    """
    ours, theirs = (
        fields_of(write_types.TYPES.read_text()),
        fields_of(write_types.written(DESCRIPTION)),
    )
    assert len(ours) > 100
    literal = re.compile(r"Literal\[([^]]*)\]")
    for place, annotation in ours.items():
        described = theirs[place]
        assert literal.sub("Literal", annotation) == literal.sub("Literal", described), place
        for mine, known in zip(
            literal.findall(annotation), literal.findall(described), strict=True
        ):
            assert set(mine.split(", ")) <= set(known.split(", ")), place


def test_the_types_that_are_shipped_can_be_read() -> None:
    assert {"content", "score"} <= set(shipped.Found.__annotations__)


def test_there_is_an_exception_for_every_code_of_the_service() -> None:
    """A code that is new needs a class in palimpsest_client/errors.py."""
    codes: set[str] = set()
    files = [*SERVICE.rglob("*.py"), *GRAPH.rglob("*.py")]
    for source in (text for file in files if "code=" in (text := file.read_text())):
        for node in ast.walk(ast.parse(source)):
            match node:
                case (
                    ast.Raise(exc=ast.Call(keywords=words))
                    | ast.Return(value=ast.Call(keywords=words))
                ):
                    codes |= {
                        str(w.value.value)
                        for w in words
                        if w.arg == "code" and isinstance(w.value, ast.Constant)
                    }
    codes |= set(
        re.findall(r'^    code = "(\w+)"', (SERVICE / "errors.py").read_text(), re.MULTILINE)
    )
    assert len(codes) > 40
    assert sorted(codes - NEVER_ANSWERED - set(errors.Problem.known)) == []


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, {"code": "session_not_found"}, errors.SessionNotFound),
        (409, {"code": "of_tomorrow"}, errors.Conflict),
        (418, {}, errors.BadRequest),
        (401, {"message": "Unauthorized"}, errors.Unauthenticated),
        (403, {"message": "Forbidden"}, errors.Forbidden),
        (504, {"detail": "<html>"}, errors.ServerFailed),
    ],
)
def test_a_problem_is_the_exception_of_its_code_or_else_of_its_status(
    status: int, body: dict[str, Any], kind: type[errors.Problem]
) -> None:
    problem = errors.problem_of(status, body)
    assert type(problem) is kind
    assert str(status) in str(problem)


def test_every_call_of_the_client_is_in_the_description() -> None:
    """Paths and bodies as the client's own code names them."""
    known = {
        (method.upper(), re.sub(r"\{\w+\}", "*", path.removeprefix("/v1/")))
        for path, methods in DESCRIPTION["paths"].items() for method in methods
    }  # fmt: skip
    made = set()
    for module in (sessions, tenants, users):
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            match node:
                case ast.Call(
                    func=ast.Name(id="call"), args=[ast.Constant(value=method), *path]
                ) if all(not isinstance(each, ast.Starred) for each in path):
                    made.add((str(method), "/".join(_named(each) for each in path)))
                case ast.Call(func=ast.Name(id="Listing"), args=[ast.Tuple(elts=path), *_]):
                    made.add(("GET", "/".join(_named(each) for each in path)))
    assert len(made) > 25
    assert sorted(made - known) == []


def _named(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else "*"
