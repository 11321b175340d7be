"""One call to a server with the OpenAI API: its key, its deadline, and its errors translated into ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.models.openai.answers import retry_after
from palimpsest.models.ports import Secret

if TYPE_CHECKING:
    from openai import OpenAI

OPENAI_URL = "https://api.openai.com/v1"
TRANSIENT = frozenset({408, 409, 425, 429})
SERVER_ERRORS = 500
LEAST_SECONDS = 0.1  # for a request that begins at the end of its call
Send = Callable[["OpenAI", float], AbstractContextManager[Any]]
"""Begins a streamed request on a client; the number is its timeout in seconds."""


@dataclass(frozen=True, slots=True)
class ServerCall:
    """One call, which may take several requests; all of them must end at `until` (monotonic seconds)."""

    client: OpenAI
    until: float

    def body(self, send: Send, *, max_bytes: int) -> bytes:
        """The body of an answer, read piece by piece, so that deadline and size hold for the whole answer.

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
    """A server. `base_url` "" means OpenAI. It imports, reads and connects at the first call and repeats none."""

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
        """A call, whose time begins now. An `APIError` of openai that its body does not catch is translated into
        `ModelUnavailable`, `ModelOutputInvalid` or `ModelFailed`.
        """
        client = self._client_for(self._known_key())
        from openai import APIError

        try:
            yield ServerCall(client, time.monotonic() + self._seconds)
        except APIError as error:
            _raise_ours(error)

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

                client = OpenAI(api_key=key, base_url=self._base_url, timeout=self._seconds, max_retries=0)
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
    raise ModelFailed(f"The model refused the request with {status}.", code="model_refused_request") from error
