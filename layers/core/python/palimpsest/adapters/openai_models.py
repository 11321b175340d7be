"""Chat models behind any server that speaks the OpenAI API: OpenAI, Ollama, vLLM, llama.cpp, gateways."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from palimpsest.adapters.openai_answers import MAX_ANSWER_BYTES, completion_of, retry_after
from palimpsest.domain.model_windows import window_of
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.ports.models import Completion, Schema
from palimpsest.ports.secrets import Secret

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

OPENAI_URL = "https://api.openai.com/v1"
TIMEOUT_SECONDS = 30.0
UNKNOWN_WINDOW = 8_192
TRANSIENT = frozenset({408, 409, 425, 429})
# Models that think before they answer count their thoughts as output.
THINKERS = re.compile(r"o[1-9](?:-|$)|gpt-5|gpt-oss|deepseek-r|qwq")
THINKING_ROOM = 4_000
MAX_OUTPUT_FIELDS = ("max_completion_tokens", "max_tokens")
# What a server answers that does not know a response format. An error's words differ from server to server.
REFUSES_FORMAT = frozenset({400, 415, 422, 501})
Format = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Asked:
    model: str
    instructions: str
    text: str
    max_tokens: int
    formats: Sequence[Format] = ({},)  # further fields of the request: ways to ask for the answer's form


class OpenAIChatModel:
    """Implements `ChatModel` and `JsonModel`. Nothing is imported, read or connected before the first call.

    `base_url` "" is OpenAI's own. `unknown_window` is the window of a model whose name is not known.
    """

    def __init__(
        self,
        *,
        key: Secret,
        model: str,
        base_url: str = "",
        timeout: float = TIMEOUT_SECONDS,
        unknown_window: int = UNKNOWN_WINDOW,
    ) -> None:
        self._key = key
        self._model = model
        self._base_url = base_url or OPENAI_URL
        self._timeout = timeout
        self._unknown_window = unknown_window
        self._client: tuple[str, OpenAI] | None = None
        self._fields: dict[str, str] = {}
        self._refused: dict[str, int] = {}
        self._lock = threading.Lock()

    def capacity(self, model: str | None = None) -> int:
        name = model or self._model
        return max(1, (window_of(name) or self._unknown_window) - thinking_room(name))

    def complete(self, *, instructions: str, text: str, max_tokens: int, model: str | None = None) -> Completion:
        name = model or self._model
        asked = _Asked(name, instructions, text, max_tokens + thinking_room(name))
        return completion_of(self._ask(self._client_for(self._known_key()), asked), asked=name)

    def complete_json(
        self, *, instructions: str, text: str, schema: Schema, max_tokens: int, model: str | None = None
    ) -> Completion:
        name = model or self._model
        asked = _Asked(name, instructions, text, max_tokens + thinking_room(name), _formats(schema))
        return completion_of(self._ask(self._client_for(self._known_key()), asked), asked=name)

    def _known_key(self) -> str:
        key = (self._key.value() or "").strip()
        if not key:
            raise ModelUnavailable("There is no key for the model.")
        if not (key.isascii() and key.isprintable()):
            raise ModelFailed("The key for the model can't be sent in a header.", code="model_refused_request")
        return key

    def _client_for(self, key: str) -> OpenAI:
        with self._lock:
            if self._client is None or self._client[0] != key:
                from openai import OpenAI

                client = OpenAI(api_key=key, base_url=self._base_url, timeout=self._timeout, max_retries=0)
                self._client = key, client
            return self._client[1]

    def _ask(self, client: OpenAI, asked: _Asked) -> bytes:
        """The answer's body, in the best format that the server knows."""
        from openai import APIError

        deadline = time.monotonic() + self._timeout
        known = min(self._refused.get(asked.model, 0), len(asked.formats) - 1)
        try:
            return self._in_format(client, asked, number=known, deadline=deadline)
        except APIError as error:
            _raise_ours(error)

    def _in_format(self, client: OpenAI, asked: _Asked, *, number: int, deadline: float) -> bytes:
        """One format after the other, from `number` on, until the server does not refuse."""
        from openai import APIStatusError

        try:
            body = self._limited(client, asked, answer=asked.formats[number], deadline=deadline)
        except APIStatusError as error:
            if error.status_code not in REFUSES_FORMAT or number + 1 == len(asked.formats):
                raise
            return self._in_format(client, asked, number=number + 1, deadline=deadline)
        if number:
            self._refused[asked.model] = number
        return body

    def _limited(self, client: OpenAI, asked: _Asked, *, answer: Format, deadline: float) -> bytes:
        """A server that knows the limit of an answer by its other name says so, and is asked again by that."""
        from openai import APIStatusError

        name = self._fields.get(asked.model) or MAX_OUTPUT_FIELDS[self._base_url != OPENAI_URL]
        try:
            return _body(client, asked, more={name: asked.max_tokens, **answer}, deadline=deadline)
        except APIStatusError as error:
            if not _refuses(error, name):
                raise
        self._fields[asked.model] = name = MAX_OUTPUT_FIELDS[name == MAX_OUTPUT_FIELDS[0]]
        return _body(client, asked, more={name: asked.max_tokens, **answer}, deadline=deadline)


def _formats(schema: Schema) -> tuple[Format, ...]:
    """The ways to ask for JSON, the strictest first; the last one leaves it to the instructions."""
    strict = {"name": schema.name, "schema": schema.body, "strict": True}
    return (
        {"response_format": {"type": "json_schema", "json_schema": strict}},
        {"response_format": {"type": "json_object"}},
        {},
    )


def thinking_room(model: str) -> int:
    """Output tokens beside the answer that a model needs for its thoughts."""
    return THINKING_ROOM if THINKERS.match(model.lower().rsplit("/", 1)[-1]) else 0


def _body(client: OpenAI, asked: _Asked, *, more: Mapping[str, Any], deadline: float) -> bytes:
    """Read the answer piece by piece: the deadline and the size hold for the whole, not for each piece."""
    import httpx2

    body = bytearray()
    try:
        with client.chat.completions.with_streaming_response.create(
            model=asked.model,
            messages=[{"role": "system", "content": asked.instructions}, {"role": "user", "content": asked.text}],
            extra_body=dict(more),
            timeout=max(0.1, deadline - time.monotonic()),
        ) as response:
            for part in response.iter_bytes():
                body += part
                if time.monotonic() > deadline:
                    raise ModelUnavailable("The model's answer took too long.")
                if len(body) > MAX_ANSWER_BYTES:
                    raise ModelOutputInvalid("The model's answer is far too large.")
    except httpx2.HTTPError as error:
        raise ModelUnavailable("The connection to the model broke.") from error
    return bytes(body)


def _refuses(error: APIStatusError, field: str) -> bool:
    return error.status_code == 400 and error.code == "unsupported_parameter" and error.param == field  # noqa: PLR2004


def _raise_ours(error: Exception) -> NoReturn:
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIConnectionError):
        raise ModelUnavailable("The model can't be reached or took too long.") from error
    if not isinstance(error, APIStatusError):
        raise ModelOutputInvalid("The model's answer can't be read.") from error
    status = error.status_code
    if status in TRANSIENT or status >= 500:  # noqa: PLR2004
        raise ModelUnavailable(
            f"The model answered {status}.", retry_after=retry_after(error.response.headers)
        ) from error
    raise ModelFailed(f"The model refused the request with {status}.", code="model_refused_request") from error
