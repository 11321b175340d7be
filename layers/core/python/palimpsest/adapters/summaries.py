"""Which summariser: the model's if there is a key for it, else the one that needs none."""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.domain.messages import Message
from palimpsest.ports.models import Summarizer, Summary
from palimpsest.ports.secrets import Secret


class Summaries:
    """Implements `Summarizer` by choosing one. A model that fails is a failure: nothing else answers in its place."""

    def __init__(self, *, key: Secret, model: Summarizer, offline: Summarizer) -> None:
        self._key = key
        self._model = model
        self._offline = offline

    def capacity(self, *, model: str | None, prompt: str | None, max_tokens: int) -> int:
        return self._chosen().capacity(model=model, prompt=prompt, max_tokens=max_tokens)

    def summarize(
        self,
        *,
        previous: str | None,
        messages: Sequence[Message],
        max_tokens: int,
        prompt: str | None,
        model: str | None,
    ) -> Summary:
        return self._chosen().summarize(
            previous=previous, messages=messages, max_tokens=max_tokens, prompt=prompt, model=model
        )

    def _chosen(self) -> Summarizer:
        return self._model if (self._key.value() or "").strip() else self._offline
