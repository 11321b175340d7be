"""Secrets in the parameter store (SSM)."""

from __future__ import annotations

import threading
import time

from palimpsest.engines.aws.client import answering, client

PARAMETER_SECONDS = 2.0  # until an answer

CACHED_SECONDS = 300.0  # a new key is used within this time, without asking SSM for every call


class Parameter:
    """A SecureString in SSM. It is read when it is first needed and cached for 5 minutes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._value: str | None = None
        self._stale_at = 0.0
        self._lock = threading.Lock()

    def value(self) -> str | None:
        """Return the parameter's value, or None if the parameter does not exist. Raises
        `Unavailable` if it can't be read.
        """
        with self._lock:
            if time.monotonic() >= self._stale_at:
                self._value = self._read()
                self._stale_at = time.monotonic() + CACHED_SECONDS
            return self._value

    def _read(self) -> str | None:
        ssm = client("ssm", seconds=PARAMETER_SECONDS, attempts=2)
        with answering("The parameter store"):
            try:
                value: str | None = ssm.get_parameter(Name=self._name, WithDecryption=True)[
                    "Parameter"
                ].get("Value")
            except ssm.exceptions.ParameterNotFound:
                return None
        return value
