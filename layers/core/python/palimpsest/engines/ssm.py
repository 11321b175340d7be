"""A secret in SSM's parameter store."""

from __future__ import annotations

import threading
import time

from palimpsest.engines.aws import answering, client

SECONDS, ATTEMPTS = 2.0, 2
CACHED_SECONDS = 300.0


class Parameter:
    """One SecureString, read when first asked for and cached for 5 minutes; None where there is no such parameter."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._value: str | None = None
        self._stale_at = 0.0
        self._lock = threading.Lock()

    def value(self) -> str | None:
        """Raises `Unavailable` if it can't be read."""
        with self._lock:
            if time.monotonic() >= self._stale_at:
                self._value = self._read()
                self._stale_at = time.monotonic() + CACHED_SECONDS
            return self._value

    def _read(self) -> str | None:
        ssm = client("ssm", seconds=SECONDS, attempts=ATTEMPTS)
        with answering("The parameter store"):
            try:
                value: str | None = ssm.get_parameter(Name=self._name, WithDecryption=True)["Parameter"].get("Value")
            except ssm.exceptions.ParameterNotFound:
                return None
        return value
