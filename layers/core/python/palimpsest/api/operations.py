"""Operations of the API: method, path, scopes, the function that serves it, and what it answers, stated once beside its
code.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, TypeVar

Function = Literal["sessions", "memories", "site"]
Scope = Literal["read", "write", "admin"]
Handler = TypeVar("Handler", bound=Callable[..., Any])

RESOURCES: Mapping[Function, tuple[str, ...]] = {
    "sessions": (
        "resources.sessions.routes",
        "resources.messages",
        "resources.context",
        "resources.compactions",
        "resources.extraction",
        "resources.jobs",
        "resources.settings",
    ),
    "memories": (
        "resources.sessions.routes",
        "resources.context",
        "resources.users",
        "resources.memories.routes",
        "resources.ingest",
        "resources.recall",
        "resources.tools",
        "resources.static_facts",
    ),
    "site": ("site",),
}
"""The modules that a function loads: those that hold an operation which it serves."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `path` names its variables as `<session_id>`.

    `answers` names the type of the body for each status, several as `A | B`, the most usual first. `refuses` are
    statuses of problems beyond those that every operation may answer. The description is made from both; no request
    reads them.
    """

    name: str
    method: str
    path: str
    function: Function
    scopes: tuple[Scope, ...]
    tag: str
    summary: str
    description: str
    answers: Mapping[int, str]
    refuses: tuple[int, ...]
    handler: Callable[..., Any]

    @property
    def status(self) -> HTTPStatus:
        """The status of the usual answer."""
        return HTTPStatus(next(iter(self.answers)))

    def serves(self, method: str, path: str) -> bool:
        """Whether a call of this method and path, decoded, is this operation."""
        own, asked = self.path.split("/"), path.split("/")
        same = method == self.method and len(own) == len(asked)
        return same and all(a == b or (a.startswith("<") and bool(b)) for a, b in zip(own, asked, strict=True))


_KNOWN: list[Operation] = []


def operation(
    method: str,
    path: str,
    *,
    function: Function,
    scopes: tuple[Scope, ...],
    tag: str,
    summary: str,
    description: str,
    answers: Mapping[int, str],
    refuses: tuple[int, ...] = (),
) -> Callable[[Handler], Handler]:
    """Make the decorated code an operation; its parameters are those of the code, its name is the code's."""

    def known(handler: Handler) -> Handler:
        _KNOWN.append(
            Operation(
                name=handler.__name__,
                method=method,
                path=path,
                function=function,
                scopes=scopes,
                tag=tag,
                summary=summary,
                description=description,
                answers=answers,
                refuses=refuses,
                handler=handler,
            )
        )
        return handler

    return known


def operations_of(function: Function) -> tuple[Operation, ...]:
    """The operations that a function serves. Loads its resources, and no others."""
    for name in RESOURCES[function]:
        importlib.import_module(f"palimpsest.api.{name}")
    return tuple(each for each in _KNOWN if each.function == function)


def scopes_of(operations: tuple[Operation, ...], method: str, path: str) -> tuple[Scope, ...]:
    """The scopes that a call needs. Where there is no operation: `read` to look, `write` for the rest."""
    found = next((each for each in operations if each.serves(method, path)), None)
    if found is not None:
        return found.scopes
    return ("read",) if method in ("GET", "HEAD") else ("write",)
