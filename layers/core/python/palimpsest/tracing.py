"""Spans of work, joined over all functions by W3C's `traceparent`. Their names and attributes
follow OpenTelemetry's conventions for generative AI. They hold counts and tokens, never a text.

While tracing is off, a span is one object that does nothing, and no library is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar, cast

from palimpsest.scope import UserScope

HEADER = "traceparent"
Kind = Literal["internal", "server", "client", "producer", "consumer"]
Value = str | int | float
Work = TypeVar("Work", bound=Callable[..., Any])
MemoryOperation = Literal["update_memory", "upsert_memory", "delete_memory", "search_memory"]


class OpenSpan(Protocol):
    def note(self, name: str, value: Value) -> None:
        """Add an attribute to the span."""


class Tracer(Protocol):
    def span(
        self,
        name: str,
        *,
        kind: Kind,
        parent: str,
        links: Sequence[str],
        attributes: Mapping[str, Value],
    ) -> AbstractContextManager[OpenSpan]:
        """Return a block of work. The span ends with the block, and with an error if the block
        raises. `parent` and `links` are values of `traceparent`; without a parent, the span belongs
        to the present one. A value in another form counts as none.
        """

    def current(self) -> str:
        """Return the `traceparent` of the present span, or "" if there is none."""

    def flush(self) -> None:
        """Send the spans that have ended. Waits a short time and raises nothing."""


class _Nothing:
    """A block that is not traced, and its span."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        return None

    def note(self, name: str, value: Value) -> None:
        """Ignore the attribute, because this block is not traced."""


NOTHING = _Nothing()


@dataclass(slots=True)
class _Process:
    """The tracer of this process. None: tracing is off."""

    tracer: Tracer | None = None


_PROCESS = _Process()


def use(tracer: Tracer | None) -> None:
    """Let this process trace with `tracer` from now on. With None, tracing is off."""
    _PROCESS.tracer = tracer


def is_on() -> bool:
    return _PROCESS.tracer is not None


def span(
    name: str,
    *,
    kind: Kind = "internal",
    parent: str = "",
    links: Sequence[str] = (),
    attributes: Mapping[str, Value] | None = None,
) -> AbstractContextManager[OpenSpan]:
    """Return a block of work, as `Tracer.span` does."""
    tracer = _PROCESS.tracer
    if tracer is None:
        return NOTHING
    return tracer.span(name, kind=kind, parent=parent, links=links, attributes=attributes or {})


def memory(operation: MemoryOperation, *, tenant: str) -> AbstractContextManager[OpenSpan]:
    """Return a traced block for one operation on memories. OpenTelemetry's conventions name a
    memory store, which is the tenant here. Note with `counted` how many memories the operation
    concerned.
    """
    if _PROCESS.tracer is None:
        return NOTHING
    about = {"gen_ai.operation.name": operation, "gen_ai.memory.store.id": tenant}
    return span(operation, attributes=about)


def counted(of: OpenSpan, records: int) -> None:
    """Note how many memories an operation found, or was to create, change or delete."""
    of.note("gen_ai.memory.record.count", records)


def operation(name: MemoryOperation, count: Callable[[Any], int]) -> Callable[[Work], Work]:
    """Return a decorator that makes each call of a use case one traced operation on a user's
    memories, as `memory` describes it. `count` takes the number of memories from the result.
    """

    def decorated(work: Work) -> Work:
        @wraps(work)
        def traced(owner: Any, scope: UserScope, *rest: Any, **named: Any) -> Any:
            if _PROCESS.tracer is None:
                return work(owner, scope, *rest, **named)
            with memory(name, tenant=scope.tenant) as span:
                made = work(owner, scope, *rest, **named)
                counted(span, count(made))
            return made

        return cast("Work", traced)

    return decorated


def one(_: object) -> int:
    """Return 1, the number of memories of an operation that works on a single memory."""
    return 1


def current() -> str:
    """Return the `traceparent` of the present span, or "" if there is none or tracing is off."""
    return "" if _PROCESS.tracer is None else _PROCESS.tracer.current()


def flush() -> None:
    """Send the spans that have ended. A function calls it at the end of each event, because Lambda
    may freeze the process after that.
    """
    if _PROCESS.tracer is not None:
        _PROCESS.tracer.flush()
