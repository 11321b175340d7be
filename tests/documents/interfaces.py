"""The reference pages of the Python interfaces: every public method of the client and of the
library, with its parameters and the first sentence of its docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import palimpsest
import palimpsest_client
from palimpsest import AgentMemory
from palimpsest_client import blocking

from tests.documents.tables import HEAD, cell, table

CLIENT = (blocking.Palimpsest, blocking.User, blocking.Session, blocking.Job)
_SENTENCE_END = re.compile(r"\.(?:\s|$)")
_NOT_SHOWN = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def client() -> str:
    """Every method of the client, by the object that has it."""
    head = (
        f"# The Python client's methods\n\n{HEAD} [The Python client](../client.md) shows how they "
        "are used. `AsyncPalimpsest` and its objects have the same methods, to be awaited.\n\n"
        f"`{blocking.Palimpsest.__name__}{shape(blocking.Palimpsest)}` is the service.\n"
    )
    parts = [head]
    parts += [f"## {kind.__name__}\n\n{methods(kind)}" for kind in CLIENT]
    rows = [(f"`{name}`", summary(export)) for name, export in exported(palimpsest_client)]
    parts.append(f"## Exports of `palimpsest_client`\n\n{table(('name', 'meaning'), rows)}")
    return "\n".join(parts)


def library() -> str:
    """Every method of `AgentMemory`, and what the library exports beside it."""
    rows = [(f"`{name}`", summary(export)) for name, export in exported(palimpsest)]
    return (
        f"# The library's methods\n\n{HEAD} [As a library](../library.md) shows how they are used."
        f"\n\n## AgentMemory\n\n`AgentMemory{shape(AgentMemory)}`\n\n{methods(AgentMemory)}"
        f"\n## Exports of `palimpsest`\n\n{table(('name', 'meaning'), rows)}"
    )


def exported(module: Any) -> list[tuple[str, Any]]:
    return [(name, getattr(module, name)) for name in sorted(module.__all__)]


def methods(kind: type) -> str:
    rows = [(f"`{name}{shape(method)}`", summary(method)) for name, method in sorted(public(kind))]
    return table(("method", "meaning"), rows)


def public(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class and its bases. A method without a docstring is none of the
    interface.
    """
    for name in dir(kind):
        attribute = inspect.getattr_static(kind, name)
        if not name.startswith("_") and callable(getattr(kind, name)) and inspect.getdoc(attribute):
            yield name, getattr(kind, name)


def shape(method: Any) -> str:
    """The parameters as a caller writes them, with their defaults."""
    shown: list[str] = []
    is_by_name = False
    parameters = [*inspect.signature(method).parameters.values()]
    for parameter in without_self(parameters):
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not is_by_name:
            is_by_name = True
            shown.append("*")
        shown.append(written(parameter))
        is_by_name = is_by_name or parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return f"({', '.join(shown)})"


def without_self(parameters: Sequence[inspect.Parameter]) -> Sequence[inspect.Parameter]:
    is_bound = not parameters or parameters[0].name not in ("self", "cls")
    return parameters if is_bound else parameters[1:]


def written(parameter: inspect.Parameter) -> str:
    if parameter.kind in _NOT_SHOWN:
        return str(parameter).partition(":")[0]
    if parameter.default is inspect.Parameter.empty:
        return parameter.name
    default = parameter.default
    is_plain = isinstance(default, str | int | float | tuple) or default is None
    return f"{parameter.name}={default!r}" if is_plain else f"{parameter.name}=…"


def summary(thing: Any) -> str:
    """The first sentence of the docstring."""
    text = " ".join((inspect.getdoc(thing) or "").split())
    end = _SENTENCE_END.search(text)
    return cell(text[: end.start()] if end else text)
