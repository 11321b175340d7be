"""Models whose calls within a block are recorded: their prompts and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from palimpsest.errors import ModelFailed
from palimpsest.models.calls import ModelOverAnother, ModelRequest
from palimpsest.models.ports import Completion


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
class RecordedModel(ModelOverAnother):
    """Implements `LanguageModel` over another model. Without `recorded_by` it only calls that
    model.
    """

    def answer(self, request: ModelRequest) -> Completion:
        record = _RECORD.get()
        if record is None:
            return request.send_to(self.model)
        call = ModelCall(request.instructions, request.text, model=request.model)
        try:
            completion = request.send_to(self.model)
        except ModelFailed as failure:
            record(replace(call, error=failure.code))
            raise
        used = completion.usage
        record(
            replace(
                call,
                answer=completion.text,
                model=completion.model,
                tokens_in=used.tokens_in,
                tokens_out=used.tokens_out,
            )
        )
        return completion
