"""Models whose calls within a block are recorded: their prompts and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.errors import ModelFailed
from palimpsest.models.ports import Completion, LanguageModel, Schema


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a language model. If it failed, `answer` is None and `error` is a code."""

    instructions: str
    text: str
    answer: str | None = None
    error: str | None = None
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0


Record = Callable[[ModelCall], None]
_RECORD: ContextVar[Record | None] = ContextVar("RECORD", default=None)


@contextmanager
def recorded_by(record: Record) -> Iterator[None]:
    """Call `record` after each model call within the block, whether it failed or not."""
    token = _RECORD.set(record)
    try:
        yield
    finally:
        _RECORD.reset(token)


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Implements `LanguageModel` over another model. Without `recorded_by` it only calls that
    model.
    """

    model: LanguageModel

    def capacity(self, model: str | None = None) -> int:
        return self.model.capacity(model)

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        ask = partial(self.model.complete, instructions=instructions, text=text)
        return _recorded(
            partial(ask, max_tokens=max_tokens, model=model),
            ModelCall(instructions, text, model=model),
        )

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        ask = partial(self.model.complete_json, instructions=instructions, text=text, schema=schema)
        return _recorded(
            partial(ask, max_tokens=max_tokens, model=model),
            ModelCall(instructions, text, model=model),
        )


def _recorded(ask: Callable[[], Completion], call: ModelCall) -> Completion:
    record = _RECORD.get()
    if record is None:
        return ask()
    try:
        found = ask()
    except ModelFailed as failure:
        record(replace(call, error=failure.code))
        raise
    used = found.usage
    record(
        replace(
            call,
            answer=found.text,
            model=found.model,
            tokens_in=used.tokens_in,
            tokens_out=used.tokens_out,
        )
    )
    return found
