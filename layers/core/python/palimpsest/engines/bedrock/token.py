"""The bearer token with which Bedrock's OpenAI-compatible server is called, in place of a key."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from palimpsest.engines.aws.client import answering
from palimpsest.engines.bedrock.place import BedrockPlace

LASTS = timedelta(hours=1)  # far longer than a token is used, so that none ends during a call
RENEWED_AFTER = 300.0
"""Seconds after which a new token is signed. botocore renews a role's credentials at least ten
minutes before they end, and a token ends with the credentials that signed it.
"""


class BedrockToken:
    """Implements `Secret`. The value is a token that is signed with the credentials of the place,
    without any call. A new token is signed every five minutes.
    """

    def __init__(self, place: BedrockPlace, *, now: Callable[[], float] = time.time) -> None:
        self._place = place
        self._now = now  # the time of day: it continues while Lambda holds a process still
        self._value: str | None = None
        self._signed_at = 0.0
        self._lock = threading.Lock()

    def value(self) -> str | None:
        """Return a token that is valid for at least some minutes, or None if there are no
        credentials. Raises `Unavailable` if the credentials can't be read now.
        """
        with self._lock:
            if not 0 <= self._now() - self._signed_at < RENEWED_AFTER or self._value is None:
                self._value, self._signed_at = self._signed(), self._now()
            return self._value

    def _signed(self) -> str | None:
        from aws_bedrock_token_generator import provide_token

        with answering("The source of the credentials for Bedrock"):
            credentials = self._place.session().get_credentials()
            if credentials is None:
                return None
            held = _Held(credentials.get_frozen_credentials())
            made: str = provide_token(
                region=self._place.region_name, aws_credentials_provider=held, expiry=LASTS
            )
        return made


@dataclass(frozen=True, slots=True)
class _Held:
    """Credentials in the form that the generator of tokens takes."""

    credentials: Any

    def load(self) -> Any:
        return self.credentials
