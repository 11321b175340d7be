"""Operations of the API. Each states its method, path, scopes, function and answers once, next to
its code.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from inspect import Parameter, signature
from typing import Any, Literal, TypeVar

Function = Literal["sessions", "memories", "site"]

Scope = Literal["read", "write", "admin"]

Handler = TypeVar("Handler", bound=Callable[..., Any])

GIVEN = ("service", "call")
"""The parameters of an operation that no caller sends."""

RESOURCES: Mapping[Function, tuple[str, ...]] = {
    "sessions": (
        "resources.sessions.operations",
        "resources.messages",
        "resources.context",
        "resources.compactions",
        "resources.jobs",
        "resources.tenant",
    ),
    "memories": (
        "resources.sessions.operations",
        "resources.context",
        "resources.users",
        "resources.profile",
        "resources.transfer",
        "resources.memories.operations",
        "resources.preferences",
        "resources.vectors",
        "resources.graph.operations",
        "resources.recall",
        "mcp.server",
        "compat.mem0.operations",
        "resources.static_facts",
    ),
    "site": ("site",),
}
"""The modules that a function loads: those that hold an operation which it serves."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `path` names its variables as `{session_id}`; `summary` and
    `description` are the docstring of `handler`.

    With `makes` it makes something, once for each `Idempotency-Key`. `answers` names the type of
    the body for each status, several as `A | B`, the most usual first. `refuses` are statuses of
    problems, besides the statuses of every operation. The description is made from both; no request
    reads them.

    `handler` returns the usual answer as an object, or a `Response` where it chooses status or
    headers itself.
    """

    name: str
    method: str
    path: str
    function: Function
    scopes: tuple[Scope, ...]
    tag: str
    answers: Mapping[int, str]
    refuses: tuple[int, ...]
    makes: bool
    handler: Callable[..., Any]

    @property
    def status(self) -> HTTPStatus:
        """The status of the usual answer."""
        return HTTPStatus(next(iter(self.answers)))

    @property
    def route(self) -> str:
        """The path as Powertools writes it: `<session_id>`."""
        return self.path.replace("{", "<").replace("}", ">")

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of the code except the service and the call: a caller sends these. Only
        the operation that is called needs them.
        """
        return {
            name: parameter
            for name, parameter in signature(self.handler).parameters.items()
            if name not in GIVEN
        }

    @property
    def takes_owner(self) -> bool:
        """Whether it reads a session, of which the caller may assert whose it is."""
        return self.path.startswith("/v1/sessions/{session_id}") and self.scopes == ("read",)

    @property
    def summary(self) -> str:
        return getdoc(self.handler).partition("\n")[0].removesuffix(".")

    @property
    def description(self) -> str:
        return " ".join(getdoc(self.handler).partition("\n")[2].split())


_KNOWN: list[Operation] = []


@dataclass(frozen=True, slots=True)
class Operations:
    """Makes code that it decorates an operation on a resource, which `function` serves. The code
    takes the service and the call, and then the operation's parameters; its name is the
    operation's.
    """

    tag: str
    function: Function

    def __call__(
        self,
        place: str,
        *,
        answers: Mapping[int, str],
        refuses: tuple[int, ...] = (),
        scopes: tuple[Scope, ...] | None = None,
        makes: bool | None = None,
        function: Function | None = None,
    ) -> Callable[[Handler], Handler]:
        """`place` is method and path: "GET /v1/jobs". If they are not given, `scopes` are `read`
        for a GET and `write` for the rest, a POST `makes` something unless it needs `read` alone,
        and `function` is the resource's.

        Code that makes something takes `call.once` along into its transaction, or works within
        `call.made`.
        """
        method, _, path = place.partition(" ")
        needed = scopes or (("read",) if method == "GET" else ("write",))
        once = (method == "POST" and needed != ("read",)) if makes is None else makes
        refused = (*refuses, 409) if once else refuses

        def known(handler: Handler) -> Handler:
            name, by = handler.__name__, function or self.function
            _KNOWN.append(
                Operation(name, method, path, by, needed, self.tag, answers, refused, once, handler)
            )
            return handler

        return known


def operations_on(tag: str, *, function: Function) -> Operations:
    """The decorator for the operations of a resource, which `function` serves."""
    return Operations(tag, function)


def getdoc(handler: Callable[..., Any]) -> str:
    return handler.__doc__ or ""


def operations_of(function: Function) -> tuple[Operation, ...]:
    """The operations that a function serves. Loads its resources, and no others."""
    for name in RESOURCES[function]:
        importlib.import_module(f"palimpsest.api.{name}")
    return tuple(operation for operation in _KNOWN if operation.function == function)
