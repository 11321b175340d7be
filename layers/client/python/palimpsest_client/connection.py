"""The address and key of the service, and the parts of HTTP that both clients share."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httpx2

from palimpsest_client.calls import Sent
from palimpsest_client.errors import NotConfigured, NotTheService

TIMEOUT = 30.0  # seconds; the service waits up to 20 within a call
LONGEST_ANSWER = 60.0  # seconds from the first byte of an answer to its last
LARGEST_ANSWER = 16_000_000  # bytes; the service's answers have less than 6 MB
HERE = ("127.0.0.1", "localhost", "::1")
FINAL = "palimpsest_is_final"
"""The extension of a response which says that the same request would get the same answer."""
LOST = (
    httpx2.TimeoutException,
    httpx2.NetworkError,
    httpx2.RemoteProtocolError,
    httpx2.ProxyError,
    httpx2.DecodingError,
)
"""Errors after which it is unknown whether the call arrived, or whose answer can't be read."""
PROFILE = "PALIMPSEST_PROFILE"
"""The environment variable that names a profile of `palimpsest login`."""
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LOCAL = Path(".local", "endpoint.json")
"""The file that the local stack writes into the folder of the project."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    api_key: str = field(repr=False)


def login_file() -> Path:
    """Return the file in which `palimpsest login` keeps address and key. Each profile, which
    `PALIMPSEST_PROFILE` names, has a file of its own. Raises `NotConfigured` for a name that can't
    be the name of a file.
    """
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    profile = os.environ.get(PROFILE)
    if not profile:
        return Path(base) / "palimpsest" / "endpoint.json"
    if not NAME.fullmatch(profile):
        raise NotConfigured("The name of a profile may only have letters, digits, `-` and `_`.")
    return Path(base) / "palimpsest" / "profiles" / f"{profile}.json"


def find(url: str | None = None, api_key: str | None = None) -> Endpoint:
    """Return the endpoint. It comes from the arguments, else from `PALIMPSEST_URL` and
    `PALIMPSEST_API_KEY`, else from `.local/endpoint.json` in this folder or one above it, else from
    the file that `palimpsest login` wrote. With `PALIMPSEST_PROFILE`, only that profile's file is
    read. A key from a file is only sent to that file's address.

    Raises `NotConfigured`.
    """
    if not os.environ.get(PROFILE):
        url = url or os.environ.get("PALIMPSEST_URL")
        api_key = api_key or os.environ.get("PALIMPSEST_API_KEY")
    stored = None if url and api_key else _stored()
    if url and not api_key and stored and stored.url.rstrip("/") != url.rstrip("/"):
        stored = None
    if stored:
        url, api_key = url or stored.url, api_key or stored.api_key
    if not url or not api_key:
        if profile := os.environ.get(PROFILE):
            raise NotConfigured(
                f"There is no profile {profile!r}: `palimpsest --profile {profile} login` makes it."
            )
        missing = "PALIMPSEST_API_KEY" if url else "PALIMPSEST_URL"
        raise NotConfigured(
            f"{missing} is not set, and there is no {LOCAL} here: give url and api_key, set "
            f"PALIMPSEST_URL and"
            " PALIMPSEST_API_KEY, or run `palimpsest login`."
        )
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise NotConfigured("The address of the service must begin with https:// or http://.")
    if not api_key.isascii() or not api_key.isprintable():
        raise NotConfigured(
            "The given key has characters that no key of the service has. Copy it again."
        )
    return Endpoint(url.rstrip("/"), api_key)


def _stored() -> Endpoint | None:
    here = Path.cwd()
    local = [] if os.environ.get(PROFILE) else [folder / LOCAL for folder in (here, *here.parents)]
    for file in (*local, login_file()):
        if file.is_file():
            try:
                known = json.loads(file.read_text())
                return Endpoint(str(known["url"]), str(known["api_key"]))
            except (ValueError, KeyError, TypeError) as error:
                raise NotConfigured(f"{file} holds no url and api_key.") from error
    return None


def options(where: Endpoint, *, timeout: float) -> dict[str, Any]:
    """Return the arguments of an HTTP client. Requests to a service on this machine never go
    through a proxy.
    """
    headers = {"Authorization": f"Bearer {where.api_key}", "Accept": "application/json"}
    is_here = urlsplit(where.url).hostname in HERE
    return {"base_url": where.url, "headers": headers, "timeout": timeout, "trust_env": not is_here}


class Content:
    """The content of an answer while it arrives, limited in size and time."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._answer = answer
        self._until = monotonic() + LONGEST_ANSWER
        self._held = bytearray()

    def add(self, part: bytes) -> None:
        """Add a part of the content. Raises `NotTheService` if the answer is too large, and
        `httpx2.ReadTimeout` if it takes too long.
        """
        self._held += part
        if len(self._held) > LARGEST_ANSWER:
            raise NotTheService(
                _address(self._answer), f"its answer has more than {LARGEST_ANSWER:,} bytes"
            )
        if monotonic() > self._until:
            raise httpx2.ReadTimeout("The answer takes too long.", request=self._answer.request)

    @property
    def sent(self) -> Sent:
        """Return the whole answer. The body of an answer without content is an empty object."""
        try:
            body = json.loads(self._held) if self._held else {}
        except (ValueError, RecursionError):  # not the service, but something before it
            body = self._held.decode(errors="replace")
        return Sent(
            _address(self._answer),
            self._answer.status_code,
            body,
            self._answer.headers.get("retry-after"),
            is_final=bool(self._answer.extensions.get(FINAL)),
        )


def lost_of(error: httpx2.RequestError) -> Sent:
    """Return the record of a lost request. Raises `NotTheService` if an answer arrived that can't
    be decoded.
    """
    if isinstance(error, httpx2.DecodingError):
        raise NotTheService(_address(error), "its answer can't be decoded") from error
    return Sent(_address(error), lost=error)


def _address(of: httpx2.Response | httpx2.RequestError) -> str:
    return str(of.request.url.copy_with(query=None))
