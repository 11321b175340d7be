"""The base of language models that treat requests for text and for JSON alike: one method answers
both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from palimpsest.models.ports import Completion, LanguageModel, Schema


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The arguments of one call of a model. With `schema`, the answer is to be JSON."""

    instructions: str
    text: str
    max_tokens: int
    model: str | None
    schema: Schema | None = None

    def send_to(self, model: LanguageModel) -> Completion:
        """Send the request to a model."""
        if self.schema is None:
            return model.complete(
                instructions=self.instructions,
                text=self.text,
                max_tokens=self.max_tokens,
                model=self.model,
            )
        return model.complete_json(
            instructions=self.instructions,
            text=self.text,
            schema=self.schema,
            max_tokens=self.max_tokens,
            model=self.model,
        )


class AnswersCalls(ABC):
    """Implements `LanguageModel` by one method, `answer`, and by `capacity`."""

    __slots__ = ()

    @abstractmethod
    def capacity(self, model: str | None = None) -> int:
        """Return how many tokens fit the model's context window, prompt and answer together."""

    @abstractmethod
    def answer(self, request: ModelRequest) -> Completion:
        """Answer the request. Raises the errors of `ChatModel.complete`."""

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        return self.answer(ModelRequest(instructions, text, max_tokens, model))

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        return self.answer(ModelRequest(instructions, text, max_tokens, model, schema))


@dataclass(frozen=True, slots=True)
class ModelOverAnother(AnswersCalls):
    """A model that forwards its calls to another model and adds something to them. It has the
    context window of that model.
    """

    model: LanguageModel

    def capacity(self, model: str | None = None) -> int:
        return self.model.capacity(model)
