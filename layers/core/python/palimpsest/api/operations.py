"""The operations of the API. Each states its method, path, scopes, function and answers in one
place, beside its code.
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
        "resources.messages.operations",
        "resources.context.operations",
        "resources.compactions",
        "resources.jobs",
        "resources.settings",
        "resources.usage",
    ),
    "memories": (
        "resources.sessions.operations",
        "resources.context.operations",
        "resources.users",
        "resources.profile",
        "resources.transfer",
        "resources.memories.operations",
        "resources.preferences",
        "resources.vectors",
        "resources.graph.operations",
        "resources.recall",
        "resources.feedback",
        "mcp.server",
        "compat.mem0.operations",
        "resources.static_facts",
    ),
    "site": ("site",),
}
"""The modules that each function loads. Each of them defines at least one operation that the
function serves.
"""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. Variables of `path` are written as `{session_id}`. `summary` and
    `description` come from the docstring of `handler`.

    `makes` is true if the operation makes something, once for each `Idempotency-Key`. `answers`
    maps each status to the type of its body, the usual one first; several types are written as `A |
    B`. `refuses` has the statuses of its problems, in addition to those of every operation.
    `answers` and `refuses` serve the API's description only.

    `handler` returns the usual answer as an object, or a `Response` if it chooses the status or
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
        """The status of the answer to a call that succeeds: the first one of `answers`."""
        return HTTPStatus(next(iter(self.answers)))

    @property
    def route(self) -> str:
        """The path in the notation of Powertools, with variables such as `<session_id>`."""
        return self.path.replace("{", "<").replace("}", ">")

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of the handler that a caller sends, so not the service and the call. They
        are computed only for an operation that is called.
        """
        return {
            name: parameter
            for name, parameter in signature(self.handler).parameters.items()
            if name not in GIVEN
        }

    @property
    def takes_owner(self) -> bool:
        """Whether the operation reads a session. The caller may then name the session's user, and
        the service checks that name.
        """
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
    """The decorator for the operations of one resource. `function` names the function that serves
    them. A decorated handler takes the service, the call, and the operation's parameters; its name
    becomes the operation's name.
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
        """Return the decorator for one operation. `place` is its method and path, such as "GET
        /v1/jobs". The default of `scopes` is `read` for a GET and `write` for other methods. By
        default, a POST `makes` something unless `read` is its only scope. The default of `function`
        is the resource's.

        A handler that makes something passes `call.once` to its transaction, or works within
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
    """Return the decorator for the operations of a resource, which `function` serves."""
    return Operations(tag, function)


def getdoc(handler: Callable[..., Any]) -> str:
    return handler.__doc__ or ""


def operations_of(function: Function) -> tuple[Operation, ...]:
    """Return the operations that a function serves. Only the modules of its resources are
    imported.
    """
    for name in RESOURCES[function]:
        importlib.import_module(f"palimpsest.api.{name}")
    return tuple(operation for operation in _KNOWN if operation.function == function)
