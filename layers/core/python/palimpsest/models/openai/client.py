"""One call to a server with the OpenAI API. This module handles its key, its deadline, and the
translation of its errors.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Any, NoReturn

from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.models import deadline
from palimpsest.models.ports import Completion, Secret
from palimpsest.models.usage import Usage

if TYPE_CHECKING:
    from openai import OpenAI


OPENAI_URL = "https://api.openai.com/v1"
TRANSIENT = frozenset({408, 409, 425, 429})
SERVER_ERRORS = 500
LEAST_SECONDS = 0.1  # for a request that begins at the end of its call
Send = Callable[["OpenAI", float], AbstractContextManager[Any]]
"""Begins a streamed request on a client. The number is the request's timeout in seconds."""


@dataclass(frozen=True, slots=True)
class ServerCall:
    """One call, which may take several requests. All of them must end at `until` (monotonic
    seconds).
    """

    client: OpenAI
    until: float

    def body(self, send: Send, *, max_bytes: int) -> bytes:
        """Return the body of an answer. It is read piece by piece, so that deadline and size limit
        hold for the whole answer.

        Raises `ModelUnavailable`, `ModelOutputInvalid`, and openai's `APIError`.
        """
        import httpx2

        body = bytearray()
        try:
            with send(self.client, max(LEAST_SECONDS, self.until - time.monotonic())) as response:
                for part in response.iter_bytes():
                    body += part
                    if time.monotonic() > self.until:
                        raise ModelUnavailable("The model's answer took too long.")
                    if len(body) > max_bytes:
                        raise ModelOutputInvalid("The model's answer is too large.")
        except httpx2.HTTPError as error:
            raise ModelUnavailable("The connection to the model broke.") from error
        return bytes(body)


class OpenAIServer:
    """A server with the OpenAI API. An empty `base_url` means OpenAI. The first call imports the
    openai package, reads the key and connects. No call is retried.
    """

    def __init__(self, *, key: Secret, base_url: str, seconds: float) -> None:
        self._key = key
        self._base_url = base_url or OPENAI_URL
        self._seconds = seconds
        self._client: tuple[str, OpenAI] | None = None
        self._lock = threading.Lock()

    @property
    def is_openai(self) -> bool:
        return self._base_url == OPENAI_URL

    @contextmanager
    def call(self) -> Iterator[ServerCall]:
        """Begin a call. Its time limit is that of the work of which it is a part, or else its own
        limit. If the block raises openai's `APIError`, it is translated into `ModelUnavailable`,
        `ModelOutputInvalid` or `ModelFailed`.
        """
        client = self._client_for(self._known_key())
        from openai import APIError

        try:
            yield ServerCall(client, deadline.until(self._seconds))
        except APIError as error:
            _raise_ours(error)

    def _known_key(self) -> str:
        key = (self._key.value() or "").strip()
        if not key:
            raise ModelUnavailable("There is no key for the model.")
        if not (key.isascii() and key.isprintable()):
            raise ModelFailed(
                "The model's key has characters that a header can't have.",
                code="model_refused_request",
            )
        return key

    def _client_for(self, key: str) -> OpenAI:
        with self._lock:
            if self._client is None or self._client[0] != key:
                from openai import DefaultHttpxClient, OpenAI

                http = DefaultHttpxClient()
                client = OpenAI(
                    api_key=key,
                    base_url=self._base_url,
                    timeout=self._seconds,
                    max_retries=0,
                    http_client=http,
                )
                weakref.finalize(client, http.close)  # after the last call that uses it
                self._client = key, client
            return self._client[1]


def _raise_ours(error: Exception) -> NoReturn:
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIConnectionError):
        raise ModelUnavailable("The model can't be reached or took too long.") from error
    if not isinstance(error, APIStatusError):
        raise ModelOutputInvalid("The model's answer can't be read.") from error
    status = error.status_code
    if status in TRANSIENT or status >= SERVER_ERRORS:
        wait = retry_after(error.response.headers)
        raise ModelUnavailable(f"The model answered {status}.", retry_after=wait) from error
    raise ModelFailed(
        f"The model refused the request with {status}.", code="model_refused_request"
    ) from error


MAX_ANSWER_BYTES = 4_000_000  # a broken server may send without an end
# some servers leave a model's thoughts in the text
_THOUGHTS = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL)


def completion_of(body: bytes, *, requested_model: str) -> Completion:
    """Return the completion in an answer's body. Raises `ModelOutputInvalid` if the body holds no
    usable text.

    A text that was cut off at its token limit is usable. The answer may lack the model's
    name; it is then the `requested_model`.
    """
    answer = _object(body)
    choice = _first_choice(answer)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelOutputInvalid("The model's answer holds no message.")
    if message.get("refusal"):
        raise ModelOutputInvalid("The model refused to answer.")
    if choice.get("finish_reason") == "content_filter":
        raise ModelOutputInvalid("The model's answer was filtered.")
    content = message.get("content")
    text = _whole(_THOUGHTS.sub("", content, count=1)).strip() if isinstance(content, str) else ""
    if not text:
        raise ModelOutputInvalid("The model's answer is empty.")
    model = answer.get("model")
    return Completion(
        text=text,
        model=model if isinstance(model, str) and model else requested_model,
        usage=_usage(answer),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the server asks to wait, from `Retry-After-Ms`, or else from
    `Retry-After` in seconds or as a date.
    """
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return seconds / divisor
    date = parsedate_tz(headers.get("retry-after"))
    try:
        return max(0.0, mktime_tz(date) - time.time()) if date else None
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelOutputInvalid("The model's answer isn't JSON.") from error
    if not isinstance(answer, dict):
        raise ModelOutputInvalid("The model's answer isn't a completion.")
    return answer


def _first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelOutputInvalid("The model's answer holds no choice.")
    return choices[0]


def _whole(text: str) -> str:
    """Return the text with unpaired surrogates replaced. JSON can carry them, but no database
    stores them.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _usage(answer: dict[str, Any]) -> Usage:
    reported = answer.get("usage")
    usage = reported if isinstance(reported, dict) else {}
    tokens = [
        value if isinstance(value := usage.get(name), int) else 0
        for name in ("prompt_tokens", "completion_tokens")
    ]
    return Usage(model_calls=1, tokens_in=tokens[0], tokens_out=tokens[1])
