"""Chat, and answers in JSON, from any server that speaks the OpenAI API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from palimpsest.errors import ModelFailed
from palimpsest.models.calls import AnswersCalls, ModelRequest
from palimpsest.models.catalogue import cost, window_of
from palimpsest.models.openai.client import (
    MAX_ANSWER_BYTES,
    OpenAIServer,
    ServerCall,
    completion_of,
)
from palimpsest.models.ports import Completion, Schema, Secret

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI


TIMEOUT_SECONDS = 30.0

UNKNOWN_WINDOW = 8_192  # small, so that a request to any model fits

# Reasoning models, which count their thoughts as output.
THINKERS = re.compile(r"(?:[a-z-]+\.)*(?:o[1-9](?:-|$)|gpt-[56]|gpt-oss|deepseek[-.]r|qwq)")

THINKING_ROOM = 4_000

MAX_OUTPUT_FIELDS = ("max_completion_tokens", "max_tokens")

# Status codes of servers that do not know a response format. The texts of their errors differ, so
# only the codes are tested.
REFUSES_FORMAT = frozenset({400, 415, 422, 501})
REFUSAL_SECONDS = 60
"""For this many seconds after a server refused a format, a weaker format is used."""

Format = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Asked:
    model: str
    instructions: str
    text: str
    max_tokens: int
    formats: Sequence[Format]  # further fields of the request: ways to ask for the answer's form


class OpenAIChatModel(AnswersCalls):
    """Implements `ChatModel` and `JsonModel`. The first call imports the openai package, reads the
    key and connects.

    An empty `base_url` means OpenAI. `unknown_window` is the context window of a model whose name
    is not known. `limit_field` is the name of the parameter for the token limit of an answer that
    is tried first. Without it, OpenAI's server gets the new name, and other servers get the old
    name.
    """

    def __init__(
        self,
        *,
        key: Secret,
        model: str,
        base_url: str = "",
        timeout: float = TIMEOUT_SECONDS,
        unknown_window: int = UNKNOWN_WINDOW,
        limit_field: str = "",
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._server = OpenAIServer(key=key, base_url=base_url, seconds=timeout)
        self._model = model
        self._unknown_window = unknown_window
        self._limit_field = limit_field or MAX_OUTPUT_FIELDS[not self._server.is_openai]
        self._fields: dict[str, str] = {}
        self._refused: dict[str, tuple[int, float]] = {}
        self._now = now

    def capacity(self, model: str | None = None) -> int:
        name = model or self._model
        return max(1, (window_of(name) or self._unknown_window) - thinking_room(name))

    def answer(self, request: ModelRequest) -> Completion:
        name = request.model or self._model
        room = request.max_tokens + thinking_room(name)
        formats = _formats(request.schema) if request.schema else ({},)
        return self._completed(_Asked(name, request.instructions, request.text, room, formats))

    def _completed(self, request: _Asked) -> Completion:
        try:
            return completion_of(self._ask(request), requested_model=request.model)
        except ModelFailed as failure:
            failure.model = request.model
            raise

    def _ask(self, request: _Asked) -> bytes:
        """Return the body of the answer, asked for in the strictest format that the server
        supports.
        """
        with self._server.call() as call:
            return self._in_format(call, request, number=self._known(request))

    def _known(self, request: _Asked) -> int:
        """Return the number of the strictest format that was not refused a short time ago."""
        number, until = self._refused.get(request.model, (0, 0.0))
        return min(number, len(request.formats) - 1) if self._now() < until else 0

    def _in_format(self, call: ServerCall, request: _Asked, *, number: int) -> bytes:
        """Return the body of the answer. Tries one format after the other, from `number` on, until
        the server accepts one.
        """
        from openai import APIStatusError

        try:
            body = self._limited(call, request, answer=request.formats[number])
        except APIStatusError as error:
            if error.status_code not in REFUSES_FORMAT or number + 1 == len(request.formats):
                raise
            return self._in_format(call, request, number=number + 1)
        # any 400 may look like a refused format, so the weaker format is used for a minute only
        if number > self._known(request):
            self._refused[request.model] = (number, self._now() + REFUSAL_SECONDS)
        return body

    def _limited(self, call: ServerCall, request: _Asked, *, answer: Format) -> bytes:
        """Send the request with its token limit under one parameter name. If the server refuses
        that name, send it again with the other name. Return the body of the answer.
        """
        from openai import APIStatusError

        name = self._fields.get(request.model) or self._limit_field
        try:
            return _body(call, request, {name: request.max_tokens, **answer})
        except APIStatusError as error:
            if not _refuses(error, name):
                raise
        self._fields[request.model] = name = MAX_OUTPUT_FIELDS[name == MAX_OUTPUT_FIELDS[0]]
        return _body(call, request, {name: request.max_tokens, **answer})


def _formats(schema: Schema) -> tuple[Format, ...]:
    """Return the ways to ask for JSON, the strictest first. The last way sets no format and relies
    on the instructions.
    """
    strict = {"name": schema.name, "schema": schema.body, "strict": True}
    return (
        {"response_format": {"type": "json_schema", "json_schema": strict}},
        {"response_format": {"type": "json_object"}},
        {},
    )


def thinking_room(model: str) -> int:
    """Return how many output tokens a reasoning model needs for its reasoning, in addition to its
    answer.
    """
    return THINKING_ROOM if THINKERS.match(model.lower().rsplit("/", 1)[-1]) else 0


def _body(call: ServerCall, request: _Asked, more: Mapping[str, Any]) -> bytes:
    def send(client: OpenAI, seconds: float) -> AbstractContextManager[Any]:
        return client.chat.completions.with_streaming_response.create(
            model=request.model,
            messages=[
                {"role": "system", "content": request.instructions},
                {"role": "user", "content": request.text},
            ],
            extra_body=dict(more),
            timeout=seconds,
        )

    return call.body(send, max_bytes=MAX_ANSWER_BYTES)


def _refuses(error: APIStatusError, field: str) -> bool:
    return (
        error.status_code == 400 and error.code == "unsupported_parameter" and error.param == field  # noqa: PLR2004
    )  # noqa: PLR2004, RUF100


def usage_of(body: bytes, *, model: str) -> dict[str, int]:
    """Return the usage of the call, with the fields that the answer and the catalogue provide."""
    try:
        tokens = int(json.loads(body)["usage"]["prompt_tokens"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return {"embedding_calls": 1, "unpriced": 1}
    price = cost(model, tokens_in=tokens, tokens_out=0)
    used = {"embedding_calls": 1, "embedding_tokens": tokens}
    return used | ({"unpriced": 1} if price is None else {"cost_nano_usd": price})
