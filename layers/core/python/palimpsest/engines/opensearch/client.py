"""A client, signed for a domain in AWS or plain on loopback, with short time-outs, and its errors as the library's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from palimpsest.errors import PalimpsestError, Unavailable

SECONDS = 3.0  # until an answer, unless a call says otherwise
LOOPBACK = ("127.0.0.1", "::1", "localhost")
CONNECTIONS = 20
REFUSED, MISSING = 400, 404


class RequestRefused(PalimpsestError):
    """The engine calls the request invalid: the adapter has a defect."""


class NoIndex(Unavailable):
    """The index is not there: not made yet, or dropped for another."""

    def __init__(self) -> None:
        super().__init__("There is no search index yet.")


def connected(endpoint: str, *, region: str | None = None, seconds: float = SECONDS) -> Any:
    """An `opensearchpy.OpenSearch`; nothing is sent yet. With a `region` every request is signed (SigV4) with the
    process's AWS credentials; else a name in the address is sent as the credential. Raises `ValueError` for plain HTTP
    to anywhere but this machine.
    """
    from opensearchpy import OpenSearch, Urllib3HttpConnection

    url = urlsplit(endpoint)
    is_plain = url.scheme == "http"
    if is_plain and url.hostname not in LOOPBACK:
        raise ValueError("Plain HTTP is for loopback only.")
    return OpenSearch(
        hosts=[{"host": url.hostname, "port": url.port or (80 if is_plain else 443)}],
        http_auth=_signer(region) if region else (url.username, url.password or "") if url.username else None,
        use_ssl=not is_plain,
        connection_class=Urllib3HttpConnection,
        pool_maxsize=CONNECTIONS,
        timeout=seconds,
        max_retries=1,  # an idle connection may have died; every call is safe to repeat
        retry_on_timeout=False,
    )


def _signer(region: str) -> Any:
    import boto3
    from opensearchpy import Urllib3AWSV4SignerAuth

    return Urllib3AWSV4SignerAuth(boto3.Session().get_credentials(), region, "es")


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise `Unavailable` for errors that may pass: time-outs, no connection, throttling, blocks, a missing index."""
    from opensearchpy.exceptions import OpenSearchException, TransportError

    try:
        yield
    except OpenSearchException as error:
        status = error.status_code if isinstance(error, TransportError) else None
        if status == REFUSED:
            raise RequestRefused("The search engine refused the request.") from error
        if status == MISSING:
            raise NoIndex from error
        raise Unavailable("The search engine did not answer; try again.") from error
