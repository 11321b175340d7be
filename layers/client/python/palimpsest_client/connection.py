"""What both clients say over HTTP: headers, patience, and what an answer or its loss means."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx2

from palimpsest_client.calls import Sent
from palimpsest_client.endpoint import Endpoint

TIMEOUT = 30.0  # seconds; the service waits up to 20 within a call
HERE = ("127.0.0.1", "localhost", "::1")
LOST = (httpx2.TimeoutException, httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ProxyError)
"""The call may have arrived or not."""


def options(where: Endpoint, *, timeout: float) -> dict[str, Any]:
    """What an HTTP client is made with. A service on this machine is never asked through a proxy."""
    headers = {"Authorization": f"Bearer {where.api_key}", "Accept": "application/json"}
    is_here = urlsplit(where.url).hostname in HERE
    return {"base_url": where.url, "headers": headers, "timeout": timeout, "trust_env": not is_here}


def sent_of(answer: httpx2.Response) -> Sent:
    try:
        body = answer.json() if answer.content else None
    except ValueError:  # not the service, but something before it
        body = answer.text
    return Sent(answer.status_code, body, answer.headers.get("retry-after"))
